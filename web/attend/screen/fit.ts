/** The smallest factor; what is still too much is cut off. */
const LEAST = 0.3;
/** Halvings of the range of factors: enough for steps that nobody sees. */
const ROUNDS = 7;

/**
 * Sets `--fit` of an element with a fixed height: the largest factor with which its content fits,
 * so that little is shown large, and much completely.
 * @param most the largest factor.
 */
export function fit(node: HTMLElement, most: number) {
  let limit = most;
  const fits = (factor: number) => {
    node.style.setProperty("--fit", String(factor));
    return node.scrollHeight <= node.clientHeight && node.scrollWidth <= node.clientWidth;
  };
  const adjust = () => {
    if (fits(limit)) return;
    let [low, high] = [LEAST, limit];
    for (let round = 0; round < ROUNDS; round++) {
      const middle = (low + high) / 2;
      if (fits(middle)) low = middle;
      else high = middle;
    }
    fits(low);
  };
  const resized = new ResizeObserver(adjust);
  resized.observe(node);
  const changed = new MutationObserver(adjust);
  changed.observe(node, { childList: true, characterData: true, subtree: true });
  return {
    update(most: number) {
      limit = most;
      adjust();
    },
    destroy() {
      resized.disconnect();
      changed.disconnect();
    },
  };
}
