/** Thrown inside a read or a block: the thread was forgotten meanwhile. Becomes `ThreadForgotten`. */
export class Forgotten extends Error {
  override readonly name = "Forgotten"
  readonly forgottenAt: number

  constructor(forgottenAt: number) {
    super("the thread was forgotten")
    this.forgottenAt = forgottenAt
  }
}
