/** Whether tests show what they show at full size. */
export type IsFull = boolean

declare module "vitest" {
  interface ProvidedContext {
    readonly isFull: IsFull
  }
}
