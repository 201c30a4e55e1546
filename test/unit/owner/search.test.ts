/** The search index: titles, what a person may type, pages. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import { expressionOf } from "../../../owner-object/Search.ts"
import type { FakeThread } from "./FakeThread.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const titled = async (titles: Record<string, string>, world = makeOwnerWorld()): Promise<World> => {
  for (const name of Object.keys(titles)) await run(world.submit(name))
  await world.quiet()
  for (const [name, title] of Object.entries(titles)) await retitle(world, name, title)
  await world.quiet()
  return world
}

const retitle = async (world: World, name: string, title: string | undefined) => {
  const thread = world.thread(name)
  thread.replaces = undefined
  const report = thread.report()
  thread.replaces = { ...report, revision: report.revision + 1_000 + revisions++ }
  if (title !== undefined) thread.replaces = { ...thread.replaces, title }
  await run(world.client.wake({ ownerId, threadId: name as ThreadId }))
}
let revisions = 0

const find = (world: World, query: string, more: { after?: string; limit?: number } = {}) =>
  run(world.client.search({ ownerId, query, ...more }))

const ids = async (world: World, query: string) =>
  (await find(world, query)).hits.map(({ threadId }) => threadId).toSorted()

describe("a search", () => {
  it("finds titles by their words, in any order, without accents, and by the beginning of the last", async () => {
    const world = await titled({
      a: "Refund of order 12-3 for Zoë",
      b: "Order of the day",
      c: "Nothing at all",
    })
    expect(await ids(world, "order")).toEqual(["a", "b"])
    expect(await ids(world, "zoe order")).toEqual(["a"])
    expect(await ids(world, "ord")).toEqual(["a", "b"])
    expect(await ids(world, "ord zoe")).toEqual([])
    expect(await ids(world, '"order of"')).toEqual(["b"])
    expect(await ids(world, "12-3")).toEqual(["a"])
    const [hit] = (await find(world, "refund")).hits
    expect(hit).toEqual({
      threadId: "a",
      title: "Refund of order 12-3 for Zoë",
      snippet: "[Refund] of order 12-3 for Zoë",
    })
  })

  it("takes whatever is typed as words", async () => {
    const world = await titled({ a: "cats AND dogs OR NOT NEAR(x) body" })
    const typed = [
      '"',
      'cats"',
      '"cats',
      "cats AND",
      "OR cats",
      "NOT cats",
      "NEAR(cats dogs)",
      "body:cats",
      "cats*dogs",
      "^cats",
      "(cats",
      "cats)",
      "-cats",
      "cats' OR 1=1 --",
      "{body} : cats",
      "cats + dogs",
      "\u0000cats",
      "cats\\",
      "日本 cats",
    ]
    for (const query of typed) {
      const exit = await Effect.runPromiseExit(world.client.search({ ownerId, query }))
      if (exit._tag === "Success") continue
      expect(JSON.stringify(exit)).toContain("InvalidInput")
    }
    expect(await ids(world, "cats AND dogs")).toEqual(["a"])
    expect(await ids(world, "NOT cats")).toEqual(["a"])
    expect(expressionOf('say "a ""b')).toBe('"say" "a " "b"*')
  })

  it("refuses what no text can have, and a cursor of another search", async () => {
    const world = await titled({ a: "cats" })
    for (const query of ["  ", "***", '""', Array(40).fill("x").join(" ")]) {
      await expect(find(world, query)).rejects.toMatchObject({
        _tag: "InvalidInput",
        path: "query",
      })
    }
    for (const after of ["x", "1", "1.x", "99.1"]) {
      await expect(find(world, "cats", { after })).rejects.toMatchObject({ path: "after" })
    }
  })

  it("pages, and goes on where it ended whatever is retitled meanwhile", async () => {
    const world = await titled({ a: "cat", b: "cat", c: "cat", d: "cat", e: "cat" })
    const first = await find(world, "cat", { limit: 2 })
    expect(first.hits).toHaveLength(2)
    await retitle(world, "a", "cat and dog")
    await world.quiet()
    const second = await find(world, "cat", { limit: 2, after: first.next ?? "" })
    const third = await find(world, "cat", { limit: 2, after: second.next ?? "" })
    const seen = [first, second, third].flatMap(({ hits }) => hits.map(({ threadId }) => threadId))
    expect(seen.toSorted()).toEqual(["a", "b", "c", "d", "e"])
    expect(third.next).toBeUndefined()
    await run(world.client.rebuildProjections({ ownerId }))
    await world.quiet()
    const stale = find(world, "cat", { limit: 2, after: first.next ?? "" })
    await expect(stale).rejects.toMatchObject({ path: "after" })
  })

  it("finds the present title alone", async () => {
    const world = await titled({ a: "cats" })
    await retitle(world, "a", "dogs")
    await world.quiet()
    expect(await ids(world, "cats")).toEqual([])
    expect(await ids(world, "dogs")).toEqual(["a"])
    await retitle(world, "a", undefined)
    await world.quiet()
    expect(await ids(world, "dogs")).toEqual([])
  })

  it("answers an owner nobody wrote to, and writes nothing there", async () => {
    const world = makeOwnerWorld()
    expect(await find(world, "cats")).toEqual({ hits: [] })
    expect(world.storage.sql.all("SELECT * FROM sqlite_schema")).toEqual([])
  })

  it("says that it is being built anew where its tables are gone", async () => {
    const world = await titled({ a: "cats" })
    world.storage.sql.run("DROP TABLE search_text")
    expect(await find(world, "cats")).toEqual({ hits: [], behind: true })
    await run(world.submit("b"))
    await world.quiet()
    expect(await ids(world, "cats")).toEqual(["a"])
  })
})

describe("outcomes", () => {
  const outcome = (n: number, text: string) => ({
    submissionId: `01890000-0000-7000-8000-${String(n).padStart(12, "0")}` as SubmissionId,
    sequence: n,
    outcome: "completed" as const,
    settledAt: 1_800_000_000_000 + n,
    text,
  })

  /** A thread with records, whose outcomes are read two at a time. */
  const withOutcomes = async (
    world: World,
    name: string,
    texts: ReadonlyArray<string>,
    around: (read: FakeThread["readsOutcomes"]) => FakeThread["readsOutcomes"] = (read) => read,
  ) => {
    const thread = world.thread(name)
    const all = texts.map((text, index) => outcome(index + 1, text))
    const asked: Array<number> = []
    await run(world.submit(name))
    await world.quiet()
    // Not before it has settled: how often it would be read on its way is a matter of time.
    thread.readsOutcomes = around(({ after }) =>
      Effect.sync(() => {
        asked.push(after)
        const outcomes = all.filter(({ sequence }) => sequence > after).slice(0, 2)
        const readTo = outcomes.at(-1)?.sequence ?? after
        return { outcomes, readTo, more: readTo < all.length }
      }),
    )
    const report = thread.report()
    const tailSequence = report.tailSequence + all.length
    thread.replaces = { ...report, revision: report.revision + 500, tailSequence }
    await run(world.client.wake({ ownerId, threadId: name as ThreadId }))
    return asked
  }

  it("are read from their threads once, and found with what ended", async () => {
    const world = makeOwnerWorld({ searchesOutcomes: true })
    const asked = await withOutcomes(world, "a", ["red apple", "green pear", "blue plum"])
    await world.quiet()
    expect(asked).toEqual([0, 2])
    expect((await find(world, "pear")).hits).toEqual([
      {
        threadId: "a",
        submissionId: outcome(2, "").submissionId,
        outcome: "completed",
        snippet: "green [pear]",
        at: 1_800_000_000_002,
      },
    ])
    expect(await find(world, "plum")).not.toHaveProperty("behind")
  })

  it("are not read where the deployment does not search them", async () => {
    const world = makeOwnerWorld()
    expect(await withOutcomes(world, "a", ["red apple"])).toEqual([])
    await world.quiet()
    expect(await ids(world, "apple")).toEqual([])
  })

  it("of a thread that does not answer delay nobody, and are read when it does", async () => {
    const world = makeOwnerWorld({ searchesOutcomes: true, limits: { outcomeMillis: 10 } })
    let tries = 0
    await withOutcomes(
      world,
      "a",
      ["red apple"],
      (read) => (query) => Effect.suspend(() => (++tries < 3 ? Effect.never : read(query))),
    )
    await run(world.submit("b"))
    await world.alarmsUntil("b settled", () => world.thread("b").settled.length === 1)
    await world.quiet()
    expect(tries).toBeGreaterThanOrEqual(3)
    expect(await ids(world, "apple")).toEqual(["a"])
  })

  it("are kept of each thread up to a number, the newest", async () => {
    const world = makeOwnerWorld({ searchesOutcomes: true, limits: { outcomesPerThread: 2 } })
    await withOutcomes(world, "a", ["old fruit", "new fruit", "newest fruit"])
    await world.quiet()
    const { hits } = await find(world, "fruit")
    expect(hits.map(({ snippet }) => snippet)).toEqual(["newest [fruit]", "new [fruit]"])
  })

  it("are read again by an index that is built anew", async () => {
    const world = makeOwnerWorld({ searchesOutcomes: true })
    const asked = await withOutcomes(world, "a", ["red apple"])
    await world.quiet()
    await run(world.client.rebuildProjections({ ownerId }))
    await world.quiet()
    expect(asked).toEqual([0, 0])
    expect(await ids(world, "apple")).toEqual(["a"])
  })

  it("are read from the beginning by an index that is built anew while a later part is being read", async () => {
    const world = makeOwnerWorld({ searchesOutcomes: true })
    const later = { isAsked: false, answer: () => undefined as void }
    const asked = await withOutcomes(
      world,
      "a",
      ["red apple", "green apple", "blue plum"],
      (read) => (query) =>
        query.after === 0 || later.isAsked
          ? read(query)
          : Effect.andThen(
              Effect.callback<void>((resume) => {
                later.isAsked = true
                later.answer = () => resume(Effect.void)
              }),
              read(query),
            ),
    )
    while (!later.isAsked) {
      void world.deliver()
      await world.until("it is asked", () => later.isAsked || !world.isDelivering())
    }
    await run(world.client.rebuildProjections({ ownerId }))
    later.answer()
    await world.quiet()
    expect(asked).toEqual([0, 2, 0, 2])
    expect((await find(world, "apple")).hits).toHaveLength(2)
    expect((await find(world, "plum")).hits).toHaveLength(1)
  })
})
