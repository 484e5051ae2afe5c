import { Readable } from 'node:stream';

const BLOCK_BYTES = 64 * 1024;

/** What a body tells while it is read. When one of them throws, nothing more is read and the body ends with that error. */
export interface BodyListener {
  /** Before the first byte is given away. */
  onBegin(): void;
  /** Each time a block is asked for. */
  onBlock(): void;
  /** Everything was given away, but not yet that this was all: until it returns, the final dot cannot leave. */
  onEnd(): void;
}

/** The content of a message, for one exchange: only who gives it away knows how far the exchange came. */
export class MessageBody extends Readable {
  #offset = 0;

  constructor(
    private readonly mime: Buffer,
    private readonly listener: BodyListener,
  ) {
    super({ highWaterMark: BLOCK_BYTES });
  }

  override _read(): void {
    try {
      if (this.#offset === 0) this.listener.onBegin();
      if (this.#offset < this.mime.length) {
        this.listener.onBlock();
        const block = this.mime.subarray(this.#offset, this.#offset + BLOCK_BYTES);
        this.#offset += block.length;
        this.push(block);
      } else {
        this.listener.onEnd();
        this.push(null);
      }
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
