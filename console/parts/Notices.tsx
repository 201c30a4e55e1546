/** What was done and what was not, shown where the reader is: on the page, or in the form over it, which hides the page. */
import { straight } from "../lib/Format.ts"
import { failures, notice, takeNote } from "../state/Notice.ts"

/** Always on the page: what comes into it is heard. `isHere` is whether the reader is. */
export const Notices = ({ isHere }: { readonly isHere: boolean }) => {
  const done = isHere ? notice.value : ""
  return (
    <div class="notices">
      {(isHere ? failures.value : []).map((failure) => (
        <p key={failure} class="notice failed" role="alert">
          <span>{straight(failure)}</span>
          <button type="button" class="link" onClick={() => takeNote(failure)}>
            Noted
          </button>
        </p>
      ))}
      <output class={done === "" ? "notice" : "notice shown"}>{straight(done)}</output>
    </div>
  )
}
