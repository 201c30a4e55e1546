/** The sign of Heddle: a warp thread in the eye of its heddle. */

export const Mark = ({ size }: { readonly size: number }) => (
  <svg class="mark" viewBox="0 0 32 32" width={size} height={size} aria-hidden>
    <path class="mark-warp" d="M8 5v22M24 5v22" />
    <path class="mark-thread" d="M16 5v6M16 21v6" />
    <path class="mark-eye" d="M16 11c-4 2.6-4 7.4 0 10c4-2.6 4-7.4 0-10z" />
  </svg>
)
