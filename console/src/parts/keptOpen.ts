/** A dialog in which something is begun is closed by its buttons only: neither by a click beside it nor by Escape. */
export function keptOpen(begun: boolean) {
  return { mask: { closable: !begun }, keyboard: !begun };
}
