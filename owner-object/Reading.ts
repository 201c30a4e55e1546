/**
 * Reads of the owner's rows outside any block, as effects.
 *
 * - I1 A storage that fails under a read is `StorageUnavailable`, like one that fails under a block; what else
 *   goes wrong is a defect.
 */
import { Effect } from "effect"
import { StorageUnavailable } from "../contracts/Errors.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { StorageFailure } from "../platform/ObjectStorage.ts"

/** What a read gives. */
export const reading = <A>(
  operation: string,
  read: () => A,
): Effect.Effect<A, StorageUnavailable> =>
  Effect.catch(Effect.try({ try: read, catch: (cause) => cause }), (cause) =>
    cause instanceof StorageFailure // I1
      ? Effect.logError(`storage failed in ${operation}: ${describeThrown(cause)}`).pipe(
          Effect.andThen(Effect.fail(new StorageUnavailable({ operation }))),
        )
      : Effect.die(cause),
  )
