import { parentPort } from 'node:worker_threads';
import { type ParsedMessage, parseMessage } from './mime-parser.ts';

/*
 * The thread in which messages are parsed (`MessageParser`). Node runs it from here as it is, in tests too: only
 * what Node itself can strip of types may be imported.
 */

/** What the thread is asked, in order. */
export interface ParseRequest {
  mimes: readonly Uint8Array[];
}

/** A message as it could be read, or why not. */
export type ParseResult = { parsed: ParsedMessage } | { reason: string };

async function parse(mime: Uint8Array): Promise<ParseResult> {
  try {
    return { parsed: await parseMessage(Buffer.from(mime.buffer, mime.byteOffset, mime.byteLength)) };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on('message', async ({ mimes }: ParseRequest) => {
  const results: ParseResult[] = [];
  for (const mime of mimes) results.push(await parse(mime));
  parentPort?.postMessage(results, []);
});
