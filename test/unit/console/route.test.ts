/** The addresses of the console's pages. */
import { describe, expect, it } from "vitest"
import { hrefOf, parseRoute, type Route, titleOf } from "../../../console/lib/Route.ts"

const ownerId = "shop:7.a_b-c"

const routes: ReadonlyArray<Route> = [
  { page: "owners" },
  { page: "owner", ownerId },
  { page: "threads", ownerId, filter: {} },
  {
    page: "threads",
    ownerId,
    filter: { state: "running", text: "a&b=c#d", words: `"order of" 50%`, order: "activity" },
  },
  { page: "thread", ownerId, threadId: "a/b?c" },
  { page: "thread", ownerId, threadId: "order-7", submissionId: "018f" },
  { page: "obligations", ownerId },
  { page: "obligations", ownerId, blocker: "ready-aged" },
  { page: "faults", ownerId },
  { page: "fault", ownerId, threadId: "order-7" },
]

describe("an address", () => {
  it.each(routes)("leads where it was written for: $page", (route) => {
    expect(parseRoute(hrefOf(route))).toEqual(route)
    expect(titleOf(route)).not.toBe("")
  })

  it("of nothing is that of all owners", () => {
    for (const hash of ["", "#", "#/", "#/owners", "#/owners/"])
      expect(parseRoute(hash)).toEqual({ page: "owners" })
  })

  it("that nobody wrote leads to the page that says so", () => {
    for (const hash of [
      "#/elsewhere",
      "#/owners/a/b",
      "#/owners/a/threads/b/c",
      "#/owners/a/obligations/b",
      "#/%E0%A4%A",
    ])
      expect(parseRoute(hash)).toEqual({ page: "nowhere", address: hash })
  })

  it("with a broken escape or an unknown order is read as far as it goes", () => {
    expect(parseRoute("#/owners/%E0%A4%A")).toEqual({ page: "owner", ownerId: "%E0%A4%A" })
    expect(parseRoute("#/owners/a/threads?order=upside&text=")).toEqual({
      page: "threads",
      ownerId: "a",
      filter: {},
    })
  })
})
