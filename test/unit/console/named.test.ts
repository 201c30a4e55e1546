import { describe, expect, it } from "vitest"
import { listedAs } from "../../../console/lib/Named.ts"

describe("one thread in the list of an owner's", () => {
  it("is asked for right where it stands", () => {
    expect(listedAs("shop", "t-04799")).toEqual({
      ownerId: "shop",
      text: "t-04799",
      limit: 32,
      after: "t-0479",
    })
    expect(listedAs("shop", "t")).not.toHaveProperty("after")
  })
})
