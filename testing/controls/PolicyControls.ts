/** Controls of who may do what: whom the policy is asked about, and who speaks as an owner. */
import type { Control } from "./Control.ts"
import { step, submits, world } from "./Worlds.ts"

/** Strangers are denied everything. Which five operations one tries is a matter of the seed. */
const strangersTry = (seed: number) =>
  world({ seed, denials: [], operations: [submits(0, "k0", [step("s")])] })

export const policyControls: ReadonlyArray<Control> = [
  {
    name: "the policy is asked after the call",
    invariant: "I17",
    edits: [
      {
        file: "contracts/Authorization.ts",
        find: "return Effect.andThen(asked, called) // Z4",
        replace: "return Effect.tap(called, () => asked)",
      },
    ],
    // What is denied is answered as it should be; it has only used the storage before.
    pinned: strangersTry(1),
  },
  {
    name: "the policy is not asked about one operation",
    invariant: "I17",
    edits: [
      {
        file: "contracts/Authorization.ts",
        find: "Effect.forEach(operationsOf(name, caller.principal, payload), authorized, {",
        replace: `Effect.forEach(name === "explain" ? [] : operationsOf(name, caller.principal, payload), authorized, {`,
      },
    ],
    pinned: strangersTry(4),
  },
  {
    name: "what the policy has said is not heeded",
    invariant: "I17",
    edits: [
      {
        file: "contracts/Authorization.ts",
        find: "return Effect.andThen(asked, called) // Z4",
        replace: `return Effect.andThen(name === "submit" ? Effect.ignore(asked) : asked, called)`,
      },
    ],
    // A client that may not submit to this thread does.
    pinned: world({
      clients: 2,
      denials: [{ client: 1, operations: ["submit"], thread: 0 }],
      operations: [submits(0, "k0", []), submits(1_000, "k1", [], { client: 1 })],
    }),
  },
  {
    name: "a client speaks as an owner",
    invariant: "I17",
    edits: [
      {
        file: "contracts/Authorization.ts",
        find: "if (caller._tag !== allowed) return denied // Z1",
        replace: `if (caller._tag !== allowed && allowed !== "Owner") return denied`,
      },
    ],
    pinned: world({
      operations: [submits(0, "k0", []), { _tag: "Intrude", at: 10_000, client: 0, thread: 0 }],
    }),
  },
]
