import { Readable } from 'node:stream';

const BLOCK_BYTES = 64 * 1024;

/**
 * Notified while a body is read. If a method throws, reading stops and the body ends with that
 * error.
 */
export interface BodyListener {
  /** Called before the first byte is handed out. */
  onBegin(): void;
  /** Called each time a block is requested. */
  onBlock(): void;
  /**
   * Called when all bytes were handed out but the end was not signalled yet. The final dot cannot
   * be sent before this method returns.
   */
  onEnd(): void;
}

/**
 * The content of a message for one exchange. It reports its own progress: no other component knows
 * how much of the content was handed to the connection.
 */
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
