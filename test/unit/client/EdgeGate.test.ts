import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeEdge } from "../../../client/Edge.ts"
import { identityOfProps } from "../../../client/Identity.ts"
import { grants, makeObjects } from "./fakes.ts"

const failed = (error: object) => ({ _tag: "Failure", cause: [{ _tag: "Fail", error }] })

describe("a method that nobody serves", () => {
  it.effect("is told as such to every verified caller, whatever its grants and its name", () =>
    Effect.gen(function* () {
      const objects = yield* makeObjects()
      const identity = identityOfProps(grants({ operations: ["submit"] }))
      const edge = yield* makeEdge({ identity, targets: objects.targets })
      for (const tag of ["sumbit", "admit", "", "x".repeat(3_000_000), "__proto__"]) {
        for (const payload of [{}, { ownerId: "bank" }, { ownerId: "shop-1" }]) {
          const exit = yield* Effect.promise(() =>
            edge.call({ _tag: "Request", id: "1", tag, payload, headers: [] }),
          )
          expect(exit).toMatchObject(failed({ _tag: "Unavailable", retryable: false }))
        }
      }
      expect(objects.reached).toEqual([])
    }),
  )
})
