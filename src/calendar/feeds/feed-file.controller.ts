import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Controller, Get, Logger, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../platform/auth/access.decorators.ts';
import { ClientAddress } from '../../platform/http/client-address.decorator.ts';
import { FeedsService } from './feeds.service.ts';

/**
 * Serves the calendar files that calendar programs subscribe to (docs/invitations.md). The URL
 * contains the secret, so logs do not include it.
 */
@ApiExcludeController()
@Public()
@Controller('feeds')
export class FeedFileController {
  readonly #log = new Logger(FeedFileController.name);

  constructor(private readonly feeds: FeedsService) {}

  @Get(':file')
  async read(
    @Req() request: Request,
    @Res() response: Response,
    @Param('file') file: string,
    @ClientAddress() ip: string,
  ): Promise<void> {
    const { etag, pieces } = await this.feeds.open(file, ip);
    response.set({
      ETag: etag,
      // The client may cache the file but must revalidate it; shared caches may not store it.
      'Cache-Control': 'private, no-cache',
      'Content-Type': 'text/calendar; charset=utf-8',
      'Content-Disposition': 'inline; filename="calendar.ics"',
      'X-Robots-Tag': 'noindex, nofollow',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    });
    if (isKnown(request, etag)) return void response.status(304).end();
    if (request.method === 'HEAD') return void response.end();
    try {
      await pipeline(Readable.from(pieces()), response);
    } catch (error) {
      // The client has disconnected, or sees that the connection breaks off.
      this.#log.warn(
        `a calendar feed could not be sent completely; the client must fetch it again: ${error instanceof Error ? error.name : ''}`,
      );
    }
  }
}

/** True if the client already has this version of the file (RFC 9110 13.1.2, weak comparison). */
function isKnown({ headers }: Request, etag: string): boolean {
  const known = (headers['if-none-match'] ?? '')
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''));
  return known.includes(etag.replace(/^W\//, '')) || known.includes('*');
}
