/** The users in places, such as rooms, with the number of their connections. */
export class Places {
  readonly #places = new Map<string, Map<string, number>>();

  /** A connection of a user comes. @returns whether it is the first one. */
  enter(place: string, user: string): boolean {
    let users = this.#places.get(place);
    if (!users) this.#places.set(place, (users = new Map<string, number>()));
    const count = users.get(user) ?? 0;
    users.set(user, count + 1);
    return count === 0;
  }

  has(place: string, user: string): boolean {
    return this.#places.get(place)?.has(user) ?? false;
  }

  /** A connection of a user leaves a place. @returns whether it was the last one. */
  leave(place: string, user: string): boolean {
    const users = this.#places.get(place)!;
    const left = users.get(user)! - 1;
    if (left > 0) {
      users.set(user, left);
      return false;
    }
    users.delete(user);
    if (users.size === 0) this.#places.delete(place);
    return true;
  }

  /** Whether all places are empty. */
  get isEmpty(): boolean {
    return this.#places.size === 0;
  }

  /** The users in a place, in the order of their coming. */
  usersIn(place: string): string[] {
    return [...(this.#places.get(place)?.keys() ?? [])];
  }

  /** The places with users, and the number of users in each. */
  counts(): [place: string, count: number][] {
    return [...this.#places].map(([place, users]) => [place, users.size]);
  }

  /** How many users are in a place. */
  countIn(place: string): number {
    return this.#places.get(place)?.size ?? 0;
  }
}
