/** Limits the bytes of all work that runs at a time. Work that does not fit waits in order. */
export class ByteBudget {
  readonly #waiting: { bytes: number; enter: () => void }[] = [];
  #used = 0;
  #running = 0;

  /** @param most the budget in bytes; work that is larger runs alone */
  constructor(private readonly most: number) {}

  /** Bytes of the running work. */
  get used(): number {
    return this.#used;
  }

  /** Whether work of this size would start at once. */
  isFree(bytes: number): boolean {
    return this.#waiting.length === 0 && this.#fits(this.#taken(bytes));
  }

  /**
   * Runs work as soon as its bytes fit into the budget.
   * @throws the error of the work
   */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const taken = this.#taken(bytes);
    if (!this.isFree(bytes))
      await new Promise<void>((enter) => this.#waiting.push({ bytes: taken, enter }));
    else this.#take(taken);
    try {
      return await work();
    } finally {
      this.#used -= taken;
      this.#running -= 1;
      this.#admit();
    }
  }

  #taken(bytes: number): number {
    return Math.min(Math.max(0, bytes), this.most);
  }

  #fits(bytes: number): boolean {
    return this.#running === 0 || this.#used + bytes <= this.most;
  }

  #take(bytes: number): void {
    this.#used += bytes;
    this.#running += 1;
  }

  /** Reserves the bytes of waiting work before it starts, so that new work cannot take them. */
  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#take(next.bytes);
      next.enter();
    }
  }
}
