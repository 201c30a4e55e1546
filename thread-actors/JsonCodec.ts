/** What agents may store: JSON, by schemas that say so. */
import type { Schema } from "effect"

/** Anything JSON can say. */
export type Json = Schema.Json

/** A schema whose encoded form is JSON and that needs no services. */
export type JsonCodec<A> = Schema.Codec<A, unknown, never, never>
