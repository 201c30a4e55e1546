import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import { sha256 } from "../../platform/Digest.ts"

describe("a digest", () => {
  it("is the SHA-256 of its parts in order, as they stand in UTF-8", () => {
    expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    expect(sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    expect(sha256("ä🧵")).toBe(createHash("sha256").update(Buffer.from("ä🧵")).digest("hex"))
  })

  it("depends on the order of its parts", () => {
    expect(sha256("a", "b")).not.toBe(sha256("b", "a"))
  })

  it("joins its parts without a mark between them: callers separate what must not run together", () => {
    expect(sha256("ab", "c")).toBe(sha256("a", "bc"))
  })
})
