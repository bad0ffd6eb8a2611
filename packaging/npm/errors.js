// SPDX-License-Identifier: Apache-2.0
// errors.js -- PdlError, and the kinds of errors that functions of the host throw.

/** An error with its place in the program. `text` is the whole error, as the command prints it. */
export class PdlError extends Error {
  constructor({ kind, message, file, line, column, hint, text, exitCode }, options) {
    super(message, options)
    this.name = 'PdlError'
    this.kind = kind
    if (file !== undefined) this.file = file
    if (line !== undefined) this.line = line
    if (column !== undefined) this.column = column
    if (hint !== undefined) this.hint = hint
    this.text = text ?? message
    this.exitCode = exitCode ?? 1
  }
}

const BY_STATUS = { 400: 'bad_request', 401: 'auth', 403: 'permission', 404: 'not_found', 408: 'timeout', 429: 'rate_limit', 503: 'unavailable' }

/** Returns the kind of an error that a function of the host threw. It is the error's own `kind`, or else it follows
 * from the HTTP status, or from the error's name. */
export function kindOf(why) {
  if (typeof why?.kind === 'string') return why.kind
  const status = why?.status ?? why?.statusCode
  if (status) return BY_STATUS[status] ?? (status >= 500 ? 'server' : 'bad_request')
  if (why?.name === 'TimeoutError') return 'timeout'
  if (why?.name === 'TypeError' && /fetch/i.test(why.message)) return 'connection'
  return 'runtime'
}
