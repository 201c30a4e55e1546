/**
 * What goes into the digest agent and what comes out: data alone, so that callers outside of a Worker
 * may import it too.
 */
import { Schema } from "effect"
import { KeyTerm } from "./KeyTerms.ts"
import { Measure } from "./Prose.ts"
import { Revision } from "./Revisions.ts"
import { Structure } from "./Structure.ts"

/** A document: `name` is for people, for example its path. */
export const Document = Schema.Struct({ name: Schema.String, text: Schema.String })
export type Document = typeof Document.Type

/** What the agent says about one revision of a document. */
export const DocumentDigest = Schema.Struct({
  name: Schema.String,
  ...Structure.fields,
  ...Measure.fields,
  /** The best twelve, best first. */
  keyTerms: Schema.Array(KeyTerm),
  revision: Revision,
})
export type DocumentDigest = typeof DocumentDigest.Type
