// python.js -- runs code blocks of Python with Pyodide, which is in the same folder and is loaded when a program first
// needs it.
// SPDX-License-Identifier: Apache-2.0
import { JsonText } from '../npm/index.js'

const BEFORE = `
import json, types

def pdl_run(code, variables, session):
    names = {"PDL_SESSION": session, **json.loads(variables)}
    exec(compile(code, "<code>", "exec"), names)
    if "result" not in names:
        raise AttributeError("'types.SimpleNamespace' object has no attribute 'result'")
    return json.dumps(names["result"], allow_nan=False)
`
let loading = null

async function load() {
  const { loadPyodide } = await import(new URL('./pyodide/pyodide.mjs', import.meta.url))
  const python = await loadPyodide({ indexURL: new URL('./pyodide/', import.meta.url).href })
  python.runPython(BEFORE)
  return { run: python.globals.get('pdl_run'), newSession: python.globals.get('types').SimpleNamespace }
}

const refused = message => Object.assign(new Error(message), { kind: 'code' })

/** Returns the function `code` for one run; the blocks of the run share PDL_SESSION. onLoad(text) is called when Python has to be loaded first,
 * and with null afterwards. */
export function python(onLoad) {
  let session = null
  return async ({ lang, code, variablesJson }) => {
    if (lang !== 'python') throw refused(`code of ${lang} does not run in a browser`)
    if (!loading) onLoad('Python is being loaded.')
    loading ??= load().catch(why => {
      loading = null
      throw refused(`Python cannot be loaded: ${why.message}`)
    }).finally(() => onLoad(null))
    const { run, newSession } = await loading
    session ??= newSession()
    try {
      return new JsonText(run(code, variablesJson, session))
    } catch (why) {
      throw refused(String(why.message).trim().split('\n').at(-1)) // the last line of a traceback names the error
    }
  }
}

/** The function `code` of a playground without Python. */
export function noPython() {
  throw refused('this playground has no Python: `make playground PYODIDE=1` makes one that has')
}
