import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { asideTables, latestVersion } from "../../../thread-actors/Tables.ts"
import { accepted, drain, go, makeWorld, tags, type World } from "./harness.ts"
import { operate, taken } from "./operators.ts"

const io = { input: Schema.String, output: Schema.String }
const echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))

/** Makes what is otherwise made when something is first put into it. */
const makeAll = (world: World): void => {
  const { sql } = world.own
  const made = asideTables.made(sql)
  for (const [table, statements] of asideTables.statements) {
    if (made.has(table)) continue
    for (const statement of statements) sql.run(statement)
    asideTables.note(sql, table)
  }
}

/** Takes the tables back to those of the first release. */
const takeBack = (world: World): void => {
  for (const statement of [
    "DROP TABLE calls",
    "DROP TABLE parked",
    "DROP TABLE resubmissions",
    "DROP TABLE waits",
    "DROP TABLE children",
    "DROP TABLE abortMarks",
    "DROP TABLE callbacks",
    "DROP TABLE joined",
    "DROP TABLE outbox",
    "DROP TABLE schedules",
    "DROP TABLE cursors",
    "DROP TABLE unpruned",
    "ALTER TABLE journal DROP COLUMN races",
    "ALTER TABLE submissions DROP COLUMN trace",
    "ALTER TABLE meta DROP COLUMN failed",
    "ALTER TABLE meta DROP COLUMN aborted",
    "ALTER TABLE meta DROP COLUMN callbackKey",
    "ALTER TABLE meta DROP COLUMN pause",
    "ALTER TABLE meta DROP COLUMN pauseGeneration",
    "ALTER TABLE meta DROP COLUMN forgottenAt",
    "DELETE FROM schemaVersions WHERE version >= 1000",
    "UPDATE schemaVersions SET version = 1",
  ])
    world.own.sql.run(statement)
  world.crash()
}

/** What there is, made at once or by versions. */
const columns = (world: World): ReadonlyArray<string> =>
  world.storage.sql
    .all<{ name: string }>(
      `SELECT s.name || '.' || c.name AS name FROM sqlite_schema s, pragma_table_info(s.name) c
       UNION SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY 1`,
    )
    .map(({ name }) => name)

const versions = (world: World) =>
  world.storage.sql
    .all<{ version: number }>("SELECT version FROM schemaVersions ORDER BY version")
    .map(({ version }) => version)

describe("a thread of the first release", () => {
  it("is brought to the present tables by its first call, and goes on where it was", async () => {
    const world = makeWorld({ agents: [echo] })
    const settled = await accepted(world.admit("echo", "a"))
    await drain(world)
    const waiting = await accepted(world.admit("echo", "b"))
    makeAll(world)
    const made = columns(world)
    expect(made).toContain("journal.races")
    takeBack(world)
    expect(versions(world)).toEqual([1])
    expect(await go(world.status(settled.submissionId))).toMatchObject({ state: "settled" })
    expect(versions(world).slice(0, 2)).toEqual([1, latestVersion])
    expect(asideTables.made(world.own.sql)).toEqual(new Set(asideTables.statements.keys()))
    expect(columns(world)).toEqual(made)
    const operator = operate(world)
    await taken(operator.pause())
    expect(await tags(world.process())).toEqual(["Paused"])
    await taken(operator.resume())
    await drain(world)
    expect(await go(world.status(waiting.submissionId))).toMatchObject({ state: "settled" })
    const { checks } = await operator.verify()
    expect(checks.filter(({ _tag }) => _tag !== "Passed")).toEqual([])
    await taken(operator.forget())
    world.crash()
    await expect(operator.explain()).rejects.toMatchObject({ _tag: "ThreadForgotten" })
  })
})
