/**
 * `RegistryRpc`: what the owner registry serves, one object a deployment that knows its owners.
 *
 * An owner enters beside its first mutation. Consoles list owners from here, and the cron that is the
 * last net takes from here whom to look at. No edge serves it: `listOwners` is its public face.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { admits, CallerMiddleware, PublicName } from "./Authorization.ts"
import { CommonErrors } from "./Errors.ts"
import { Count, Millis, OwnerId } from "./Identifiers.ts"

/** The name of the one registry object of a deployment. */
export const registryName = "registry"

const Common = Schema.Union(CommonErrors)

export const OwnerSummary = Schema.Struct({
  ownerId: OwnerId,
  enteredAt: Millis,
  lookedAt: Schema.optionalKey(Millis).annotateKey({
    description: "When the cron last heard from it; absent before its first look.",
  }),
  owed: Schema.Boolean.annotateKey({
    description:
      "Whether it owed anything at the last look, or else when it entered. Not its state now.",
  }),
}).annotate({ identifier: "OwnerSummary", description: "An owner as the registry knows it." })
export type OwnerSummary = typeof OwnerSummary.Type

export const OwnerPage = Schema.Struct({
  owners: Schema.Array(OwnerSummary),
  next: Schema.optionalKey(OwnerId),
}).annotate({
  identifier: "OwnerPage",
  description: "A page of owners by id; `next` is the `after` of the next page, absent at the end.",
})
export type OwnerPage = typeof OwnerPage.Type

/** `limit`: at most `Limits.pageOwners`, which is the default. */
export const ListOwnersFields = {
  after: Schema.optionalKey(OwnerId),
  limit: Schema.optionalKey(Count),
}

/** What one look at an owner found. */
export const OwnerLook = Schema.Struct({ ownerId: OwnerId, owed: Schema.Boolean })
export type OwnerLook = typeof OwnerLook.Type

/**
 * Makes an owner known; safe to repeat. `owes` has it looked at within the hour, else within the day.
 * Fails as any call of an object may: `Unavailable` and `StorageUnavailable` are to be repeated.
 */
const enter = Rpc.make("enter", {
  payload: { ownerId: OwnerId, owes: Schema.Boolean },
  success: Schema.Void,
  error: Common,
}).pipe(admits("Owner"))

const list = Rpc.make("list", {
  payload: ListOwnersFields,
  success: OwnerPage,
  error: Common,
})
  .annotate(PublicName, "listOwners")
  .pipe(admits("Principal"))

/**
 * Takes owners whose look is due, the longest due first, at most `Limits.pageOwners`. Each is due
 * again after `Limits.lookRetryMillis` unless `looked` tells more: a run that dies, and an owner that
 * does not answer, cost a later look and no owner its place.
 */
const takeDue = Rpc.make("takeDue", {
  payload: { limit: Count },
  success: Schema.Struct({ owners: Schema.Array(OwnerId) }),
  error: Common,
}).pipe(admits("Scheduler"))

/** Records looks, at most 1,000. An owner that is not known is passed over. */
const looked = Rpc.make("looked", {
  payload: { looks: Schema.Array(OwnerLook).check(Schema.isMaxLength(1_000)) },
  success: Schema.Void,
  error: Common,
}).pipe(admits("Scheduler"))

export class RegistryRpc extends RpcGroup.make(enter, list, takeDue, looked).middleware(
  CallerMiddleware,
) {}
