// SPDX-License-Identifier: Apache-2.0
// index.d.ts -- the types of pdl-lang.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Texts of files by name, for `include`, `import` and `read` of a program. */
export type Files = Record<string, string>

export interface Problem {
  /** Name of the rule, as in the manual: "name-undefined". */
  rule: string
  severity: 'error' | 'warning'
  message: string
  hint?: string
  file?: string
  line?: number
  column?: number
  endLine?: number
  endColumn?: number
  fix?: unknown
}

/** The table of `pdl --prices`, or its text: dollars for one token, for each pattern of model names. There is no built-in
 * table. */
export type Prices = string | Record<string, { input: number; output: number; cached_input?: number }>

export interface Message {
  role: string
  content: unknown
  [key: string]: unknown
}

export interface ModelRequest {
  model: string
  messages: Message[]
  parameters: Record<string, unknown>
  /** The JSON Schema that the answer must fit; null when any answer fits. */
  schema: unknown
  /** The program shows pieces of the answer as they arrive. */
  stream: boolean
}

/** A chat completion in OpenAI's form, or a message of it. */
export interface ModelReply {
  choices?: unknown[]
  content?: string | null
  tool_calls?: unknown[]
  usage?: unknown
  [key: string]: unknown
}

/** Texts one after the other; the last item may be the whole reply, with its usage. */
export type ModelAnswer = string | ModelReply | AsyncIterable<string | ModelReply>

/** Answers a model call: a text, a reply in OpenAI's form, or texts one after the other. */
export type Model = (request: ModelRequest, signal: AbortSignal) => ModelAnswer | Promise<ModelAnswer>

export interface RunOptions {
  model?: Model
  /** Answers a `read` without a file; null is the end of input. */
  read?: (request: { message: string; multiline: boolean; id: number }, signal: AbortSignal) => string | null | Promise<string | null>
  /** Runs a code block and returns its result. variablesJson has the variables as JSON text with exact numbers; a result with exact numbers is a
   * JsonText. */
  code?: (request: { lang: string; code: string; variables: Record<string, unknown>; variablesJson: string }, signal: AbortSignal) => unknown
  /** Answers a request for embeddings. */
  embed?: (request: { model: string; input: string[]; parameters: Record<string, unknown> }, signal: AbortSignal) => unknown
  /** Variables of the program; `data` is another name of this option. */
  variables?: Record<string, unknown>
  data?: Record<string, unknown>
  /** Name of the program in messages; "main.pdl" by default. */
  name?: string
  files?: Files
  /** Which text arrives as text events: the result as it is made, the messages, or nothing. */
  stream?: 'result' | 'context' | 'none'
  /** The prices of models, for `usage.cost`. */
  prices?: Prices
  /** Limits of the run. A run that exceeds a limit fails with an error of kind "budget". A limit of cost
   * needs prices. */
  budget?: { calls?: number; tokens?: number; cost?: number; seconds?: number; turns?: number }
  /** Keeps the data of the Live Document for page() and changes(). The run then lives until close(). */
  view?: boolean
  /** Stops the run when it is aborted. */
  signal?: AbortSignal
}

export interface Usage {
  model_calls: number
  prompt_tokens: number
  completion_tokens: number
  /** The cost in dollars of the calls whose price is known. */
  cost?: number
}

export interface Result {
  /** The text that the command prints. */
  text: string
  value: unknown
  usage: Usage
  messages: Message[]
}

export type RunEvent =
  | { type: 'text'; text: string }
  | { type: 'call'; id: number; line?: number; model: string; messages: Message[] }
  | { type: 'reply'; id: number; line?: number; model: string; text?: string; usage?: unknown; error?: ErrorData }
  | { type: 'read'; id: number; line?: number; message: string }
  /** Sent with stream: 'context'. Text events with pieces of the message may follow. */
  | { type: 'message'; role: string; text: string }
  | { type: 'note'; text: string }
  | ({ type: 'error' } & ErrorData)

export interface ErrorData {
  kind: string
  message: string
  file?: string
  line?: number
  column?: number
  hint?: string
  /** The whole error with its place and an excerpt, as the command prints it. */
  text?: string
  exitCode?: number
}

export class PdlError extends Error implements ErrorData {
  constructor(data: ErrorData, options?: ErrorOptions)
  kind: string
  file?: string
  line?: number
  column?: number
  hint?: string
  text: string
  exitCode: number
}

/** A run. It can be awaited for its result, iterated for its events, and stopped. */
export class Run implements PromiseLike<Result>, AsyncIterable<RunEvent> {
  constructor(program: string | object, options?: RunOptions)
  /** Answers a question that the page of the Live Document would send to a server as GET or POST /api/PATH.
   * Needs the option `view`. */
  page(path: string, request?: { query?: Record<string, string>; body?: string; posted?: boolean }): { status: number; type: string; body: string }
  /** Returns the boxes of the document that have changed since `from`. */
  changes(from?: number): { changes?: unknown[]; from: number; over: boolean }
  /** Ends a run with the option `view`, and frees it. */
  close(): void
  /** Ends the run: it is rejected with a PdlError of kind "interrupt". */
  stop(): void
  then<A = Result, B = never>(done?: ((result: Result) => A | PromiseLike<A>) | null, failed?: ((why: PdlError) => B | PromiseLike<B>) | null): Promise<A | B>
  catch<B = never>(failed?: ((why: PdlError) => B | PromiseLike<B>) | null): Promise<Result | B>
  finally(fn?: (() => void) | null): Promise<Result>
  [Symbol.asyncIterator](): AsyncIterator<RunEvent>
}

export const version: string

/** Finds the problems of a program, without running it. */
export function check(text: string, options?: { name?: string; files?: Files }): Problem[]
/** Lays a program out as `pdl fmt` does. Throws PdlError when it cannot be read. */
export function format(text: string, options?: { name?: string }): string
export interface WireRequest {
  provider: string
  method?: string
  url?: string
  headers?: Record<string, string>
  body?: unknown
  /** The call has a mock_response, so nothing is sent. */
  mock?: true
  [key: string]: unknown
}
export interface Explanation {
  calls: {
    call: number
    line: number | null
    model: string
    messages: Message[]
    parameters: Record<string, unknown>
    tokens: { prompt: number; answer_at_most: number | null }
    cost: number | null
    /** The request that the service would get, with *** in place of credentials. It is null when it cannot be written;
     * `problem` has the reason. */
    request: WireRequest | null
    problem: string | null
    [key: string]: unknown
  }[]
  total: { calls: number; prompt_tokens: number; answer_tokens_at_most: number; calls_without_price: number; [key: string]: unknown }
  /** The actions that were not executed, because they would have changed something outside. */
  notDone?: unknown[]
  notKnown?: unknown[]
  notReached?: unknown[]
}
/** Says which models a program would call, without calling them. */
export function explain(text: string, options?: { variables?: Record<string, unknown>; name?: string; files?: Files; prices?: Prices }): Explanation
/** A message of the Language Server Protocol. */
export interface LspMessage {
  jsonrpc?: '2.0'
  id?: number | string | null
  method?: string
  params?: unknown
  result?: unknown
  error?: { code: number; message: string }
}
/** The language server of `pdl lsp`, for an editor: its files are those that the editor opens. Each server has an instance of the module. */
export class LanguageServer {
  /** `onMessage` gets the answers, and messages that the server sends unasked. */
  constructor(onMessage: (message: LspMessage) => void, options?: { prices?: Prices })
  /** Replaces the table of prices, which are shown beside models. With an empty text, there is no table. */
  setPrices(prices: Prices): void
  send(message: LspMessage): void
  close(): void
}
/** A value as the text of its JSON, for answers whose numbers must stay exact: `new JsonText('2.0')`. */
export class JsonText {
  constructor(text: string)
  readonly text: string
}
/** A model whose answers are written by hand: a YAML list with the rules of `pdl mock --replies`. */
export function scripted(replies?: string, options?: { strict?: boolean; delay?: number }): Model
/** Starts a program, given as its text or as the tree of its values. */
export function run(program: string | object, options?: RunOptions): Run
