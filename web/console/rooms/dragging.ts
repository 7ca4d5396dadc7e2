import { get, writable } from "svelte/store";

/** Distance from the window's edge within which a drag scrolls, and the scroll step, in pixels. */
const EDGE = 60;
const SCROLL = 12;

/** Drop position: before or after another row. */
export interface Target {
  id: string;
  side: "before" | "behind";
}

/**
 * Drag-and-drop reordering by pointer for a list whose children carry their id in `data-row`. Rows
 * stay in position until the drop; a line shows the target.
 */
export class Dragging {
  /** Id of the dragged row, or undefined if no row is dragged. */
  readonly id = writable<string | undefined>();
  readonly target = writable<Target | undefined>();
  #list: HTMLElement | undefined;
  readonly #ondrop: (id: string, to: number) => void;

  /** @param ondrop receives a row's id and its new position, from 0. */
  constructor(ondrop: (id: string, to: number) => void) {
    this.#ondrop = ondrop;
  }

  /** Svelte action for the list element. */
  list = (element: HTMLElement) => {
    this.#list = element;
    return { destroy: () => this.#end() };
  };

  /** Starts a drag on a handle's `pointerdown`. */
  grab(event: PointerEvent, id: string): void {
    if (event.button !== 0 || get(this.id) !== undefined) return;
    event.preventDefault();
    this.id.set(id);
    window.addEventListener("pointermove", this.#move);
    window.addEventListener("pointerup", this.#drop);
    window.addEventListener("pointercancel", this.#cancel);
    window.addEventListener("keydown", this.#key, { capture: true });
  }

  #move = ({ clientY }: PointerEvent): void => {
    if (clientY < EDGE) window.scrollBy(0, -SCROLL);
    else if (clientY > window.innerHeight - EDGE) window.scrollBy(0, SCROLL);
    const rows = this.#rows();
    const before = rows.find((row) => {
      const { top, height } = row.getBoundingClientRect();
      return clientY < top + height / 2;
    });
    const last = rows.at(-1);
    if (before) this.target.set({ id: idOf(before), side: "before" });
    else if (last) this.target.set({ id: idOf(last), side: "behind" });
  };

  #drop = (): void => {
    const id = get(this.id);
    const target = get(this.target);
    const ids = this.#rows().map(idOf);
    this.#end();
    if (id === undefined || !target) return;
    const from = ids.indexOf(id);
    const at = ids.indexOf(target.id) + (target.side === "behind" ? 1 : 0);
    const to = at > from ? at - 1 : at;
    if (from >= 0 && to !== from) this.#ondrop(id, to);
  };

  #cancel = (): void => this.#end();

  #key = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    this.#end();
  };

  #end(): void {
    this.id.set(undefined);
    this.target.set(undefined);
    window.removeEventListener("pointermove", this.#move);
    window.removeEventListener("pointerup", this.#drop);
    window.removeEventListener("pointercancel", this.#cancel);
    window.removeEventListener("keydown", this.#key, { capture: true });
  }

  #rows(): HTMLElement[] {
    return [...(this.#list?.children ?? [])].filter(
      (child): child is HTMLElement =>
        child instanceof HTMLElement && child.dataset["row"] !== undefined,
    );
  }
}

const idOf = (row: HTMLElement): string => row.dataset["row"]!;
