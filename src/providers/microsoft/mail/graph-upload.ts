import { z } from 'zod';
import type { PartFile } from '../../../formats/mime/message-parts.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { BudgetPriority } from '../../../platform/budgets/budget-limit.ts';
import { jsonOf } from '../../port/service-responses.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import type { GraphApi } from '../graph-api.ts';
import { GraphError } from '../graph-error.ts';

const MB = 2 ** 20;
/** Files from this size need an upload session: one request takes 4 MB, in base64. */
const LEAST_BYTES = 3 * MB;
const MOST_BYTES = 150 * MB;
/** A multiple of 320 KB below 4 MB. */
const PIECE_BYTES = 10 * 320 * 1024;
/** Failures of one file after which it is given up. */
const MOST_FAILURES = 3;

const session = z.object({ uploadUrl: z.string() });
/** Outlook's own service writes the name in upper case. */
const progress = z.object({
  nextExpectedRanges: z.array(z.string()).optional(),
  NextExpectedRanges: z.array(z.string()).optional(),
});

/** Sends large files in pieces. */
export class GraphUpload {
  constructor(private readonly graph: GraphApi) {}

  /** Whether the file is too large for one request. */
  isNeeded({ bytes }: PartFile): boolean {
    return bytes.length >= LEAST_BYTES;
  }

  /**
   * Sends a file. If the response to a piece is lost, asks for the next piece that is expected.
   * @param path of the attachments of the message
   * @throws {ProviderError} `rejected` if the file is too large
   */
  async send(
    account: ProviderAccount,
    path: string,
    file: PartFile,
    priority: BudgetPriority,
  ): Promise<void> {
    const size = file.bytes.length;
    if (size > MOST_BYTES)
      throw new ProviderError('rejected', 'Microsoft: a file must not be larger than 150 MB');
    const attachmentItem = { attachmentType: 'file', ...attachmentOf(file), size };
    const { uploadUrl: url } = await this.graph.read(
      account,
      {
        method: 'POST',
        path: `${path}/createUploadSession`,
        json: { AttachmentItem: attachmentItem },
        priority,
        repeatable: true,
      },
      session,
    );
    let from = 0;
    for (let failures = 0; from < size;) {
      try {
        from = await this.#piece(url, file.bytes, from);
      } catch (error) {
        failures++;
        if (!mayContinue(error) || failures === MOST_FAILURES) throw error;
        from = await this.#position(url);
      }
    }
  }

  /** @returns where the next piece begins */
  async #piece(url: string, bytes: Uint8Array, from: number): Promise<number> {
    const piece = bytes.subarray(from, from + PIECE_BYTES);
    const to = from + piece.length;
    const body = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const headers = {
      'content-type': 'application/octet-stream',
      'content-length': String(piece.length),
      'content-range': `bytes ${from}-${to - 1}/${bytes.length}`,
    };
    await this.graph.uploadSession({ method: 'PUT', url, headers, body });
    return to;
  }

  /** @throws {ProviderError} also if the session has ended, perhaps with the whole file */
  async #position(url: string): Promise<number> {
    const { body } = await this.graph.uploadSession({ method: 'GET', url });
    const parsed = progress.safeParse(jsonOf(body)).data;
    const [next] = parsed?.nextExpectedRanges ?? parsed?.NextExpectedRanges ?? [];
    const position = Number.parseInt(next ?? '', 10);
    if (Number.isNaN(position))
      throw new ProviderError('temporary', 'Microsoft: an upload has no position');
    return position;
  }
}

/** Whether the service may have the piece, or expects another one. */
function mayContinue(error: unknown): boolean {
  if (!(error instanceof ProviderError)) return false;
  return error.code === 'temporary' || (error instanceof GraphError && error.status === 416);
}

/** Properties of an attachment besides its bytes. */
export function attachmentOf({ filename, contentType, isInline, contentId }: PartFile) {
  return {
    name: filename || 'attachment',
    contentType,
    isInline,
    ...(contentId === null ? {} : { contentId }),
  };
}
