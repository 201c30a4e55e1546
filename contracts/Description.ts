/**
 * What an operation does, in words: the one source of its documentation.
 *
 * Schemas and errors carry theirs as the `description` annotation; an rpc has no schema of its own, so
 * it carries this one. The generated SDK and the OpenRPC document are written from them.
 */
import { Context } from "effect"

/** For callers: what the operation does, and what its answer does not mean. Empty if nobody said it. */
export const Description = Context.Reference<string>("heddle/contracts/Description", {
  defaultValue: () => "",
})
