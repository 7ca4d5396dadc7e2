/** What a write of a world says of itself. */
export interface Notes {
  /** What is cached of the world and of its rooms is stale. */
  stale(): void;
  /** What is cached of the rooms of the world is stale. */
  staleRooms(): void;
  /** So is by which host names and issuers worlds are found. */
  staleIndex(): void;
  /** What somebody may do changed, beside what the rules of the world and its rooms say. */
  rights(): void;
  /** Takes the lock under which events of chat get their ids, right before they do. */
  chat(): Promise<void>;
  /** Rows of these tables hold what was erased. They are vacuumed within seconds. */
  erased(...tables: string[]): void;
}

/** What is stale after a write. */
export type Staleness = Partial<
  Pick<Noted, "isStale" | "areRoomsStale" | "isIndexStale">
>;

/** What was noted. */
export class Noted {
  isStale = false;
  areRoomsStale = false;
  isIndexStale = false;
  areRightsChanged = false;
  readonly erased = new Set<string>();

  add(other: Noted): void {
    const { isStale, areRoomsStale, isIndexStale, erased } = other;
    this.areRightsChanged ||= other.areRightsChanged;
    this.isStale ||= isStale;
    this.areRoomsStale ||= areRoomsStale;
    this.isIndexStale ||= isIndexStale;
    for (const table of erased) this.erased.add(table);
  }
}
