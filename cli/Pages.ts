/**
 * Lists that come by pages: one page, or with `--all` every page to the end.
 *
 * - P1 A deployment whose pages do not go on is told, instead of asked for ever.
 */
import { Effect, type Option } from "effect"
import { Flag } from "effect/cli"
import { flagText } from "../contracts/CommandLine.ts"
import { ExitCode } from "./ExitCode.ts"
import { count, given, isStepName, isThreadId } from "./Parameters.ts"
import type { Session } from "./Session.ts"
import { Stopped } from "./Stopped.ts"
import { listTable, type Cell } from "./Table.ts"

/** The flags of a list whose pages go on after what `isCursor` takes. */
const pageFlagsAfter = (what: string, isCursor: (text: string) => boolean) => ({
  limit: count("limit", "Rows of a page").pipe(Flag.withAlias("n"), Flag.optional),
  after: Flag.String("after").pipe(
    Flag.filter(isCursor, (text) => `${JSON.stringify(text)} is no ${what}`),
    Flag.withDescription(`Go on after this ${what}`),
    Flag.optional,
  ),
  all: Flag.Boolean("all").pipe(
    Flag.withDescription("Every page to the end"),
    Flag.withDefault(false),
  ),
})

export const pageFlags = pageFlagsAfter("id", isThreadId)

/** Of a list that tells by a mark of its own where its next page begins. */
export const markedPageFlags = pageFlagsAfter("mark", (text) => /^[!-~]{1,160}$/.test(text))

/** Of a list by the names that runs and people give. */
export const namedPageFlags = pageFlagsAfter("name", isStepName)

export interface PageFlags {
  readonly limit: Option.Option<number>
  readonly after: Option.Option<string>
  readonly all: boolean
}

interface Page<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly next: string | undefined
  /** Why it may not have all. */
  readonly behind?: true | undefined
}

/** Fields of a page's request. */
export interface PageRequest {
  readonly limit?: number
  readonly after?: string
}

export interface PagedList<Row, E> {
  /** The name of the rows in the document for machines. */
  readonly name: string
  readonly page: (request: PageRequest) => Effect.Effect<Page<Row>, E>
  readonly headings: ReadonlyArray<string>
  readonly cells: (row: Row) => ReadonlyArray<Cell>
  /** What is said when there is nothing. */
  readonly empty: string
  /** What is said where a page may not have all. */
  readonly behind?: string
}

/** Where the next page begins: somewhere else than this one did. */
export const goesOn = <Cursor>(
  from: Cursor | undefined,
  next: Cursor | undefined,
): Effect.Effect<Cursor | undefined, Stopped> =>
  next !== undefined && JSON.stringify(next) === JSON.stringify(from)
    ? Effect.fail(
        new Stopped({
          exitCode: ExitCode.refused,
          what: "The deployment gives the same page again and again",
          next: "Report it: this is a defect of the deployment, or it is none of Heddle.",
        }),
      ) // P1
    : Effect.succeed(next)

/** Shows a list as the flags say. */
export const showPages = Effect.fnUntraced(function* <Row, E>(
  session: Session,
  flags: PageFlags,
  list: PagedList<Row, E>,
) {
  const rows: Array<Row> = []
  let request: PageRequest = { ...given("limit", flags.limit), ...given("after", flags.after) }
  let next: string | undefined
  let isBehind = false
  do {
    const page: Page<Row> = yield* list.page(request)
    rows.push(...page.rows)
    isBehind ||= page.behind === true
    next = yield* goesOn(request.after, page.next)
    if (next !== undefined) request = { ...request, after: next }
    if (flags.all) yield* session.output.progress(`${rows.length} rows`)
  } while (flags.all && next !== undefined)
  const document = {
    [list.name]: rows,
    ...(next === undefined ? {} : { next }),
    ...(isBehind ? { behind: true } : {}),
  }
  if (session.json || rows.length > 0) {
    yield* session.show(document, () => listTable(list.headings, rows.map(list.cells)))
  }
  if (session.json) return
  if (rows.length === 0 && next === undefined) yield* session.output.note(list.empty)
  if (isBehind && list.behind !== undefined) yield* session.output.note(list.behind)
  if (next !== undefined) {
    yield* session.output.note(`There are more: ${flagText("after", next)}, or --all.`)
  }
})

/** A page of rows as the contract has it. */
export const pageOf = <Row>(
  rows: ReadonlyArray<Row>,
  next: string | undefined,
  behind?: true,
): Page<Row> => ({ rows, next, behind })
