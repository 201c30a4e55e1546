/** Controls of storage that fails in the middle of blocks, and of rows that may be lost beside their owner. */
import type { Strike } from "../Strikes.ts"
import type { Control } from "./Control.ts"
import { owner, step, submits, t0, world } from "./Worlds.ts"

/** The commit of the nth block of an object fails. */
const commitFails = (object: number, nth: number): Strike => ({
  _tag: "OfStatement",
  object,
  nth,
  statement: "commit",
  does: { _tag: "HasNoRoom", millis: 0 },
})

export const storageControls: ReadonlyArray<Control> = [
  {
    name: "a block that failed is believed to have set the alarm",
    invariant: "I7",
    edits: [
      {
        file: "owner-object/Owner.ts",
        find: "  endLife(owner) // O4\n",
        replace: "  owner.starting = undefined\n",
      },
    ],
    // When all is done, and no alarm is set, the block that enrols the second fails; its client comes again.
    pinned: world({
      operations: [submits(0, "k0", [step("s")]), submits(60_000, "k1", [step("s")])],
      strikes: [commitFails(owner, 10)],
    }),
  },
  {
    name: "a thread believes the header of a block that failed",
    invariant: "Memory",
    edits: [
      {
        file: "thread-actors/Block.ts",
        find: "const end = (block: Block): void => {\n",
        replace: "const end = (block: Block): void => {\n  block.thread.header = block.header\n",
      },
    ],
    pinned: world({
      operations: [submits(0, "k0", [step("s")]), submits(60_000, "k1", [step("s")])],
      strikes: [commitFails(t0, 2)],
    }),
  },
  {
    name: "what is reconciled without a row is not visited",
    invariant: "I16",
    edits: [
      {
        file: "owner-object/Hints.ts",
        find: "{ ...withoutReport(lane), enrolled }",
        replace: "{ ...lane, enrolled: before === undefined ? undefined : enrolled }",
      },
    ],
    // Its lane is deleted before its time has come.
    pinned: world({
      operations: [submits(0, "k0", [step("s")], { afterMillis: 50_000 })],
      faults: [{ at: 10_000, kind: "lane rows deleted", object: t0, lastsMillis: 0 }],
    }),
  },
  {
    name: "lists that were lost show what changes since alone",
    invariant: "I16",
    edits: [
      {
        file: "owner-object/Project.ts",
        find: `built, sweptTo: "", behind: true }`,
        replace: `built, behind: true }`,
      },
    ],
    pinned: world({
      lists: "outcomes",
      operations: [
        submits(0, "k0", [step("s")], { title: "about k0" }),
        submits(60_000, "k1", [step("s")], { thread: 1, title: "about k1" }),
      ],
      faults: [{ at: 30_000, kind: "list tables lost", object: owner, lastsMillis: 0 }],
    }),
  },
]
