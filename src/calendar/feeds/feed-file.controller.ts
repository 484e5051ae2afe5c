import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Controller, Get, Logger, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../platform/auth/access.decorators.ts';
import { ClientAddress } from '../../platform/http/client-address.decorator.ts';
import { Feeds } from './feeds.service.ts';

/** What calendar programs subscribe to (docs/invitations.md). The address is the key; logs do not have it. */
@ApiExcludeController()
@Public()
@Controller('feeds')
export class FeedFileController {
  readonly #log = new Logger(FeedFileController.name);

  constructor(private readonly feeds: Feeds) {}

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
      // Kept by the program that asks, which has to ask whether it is still good; by nobody in between.
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
      // Whoever reads has gone away, or sees a connection that breaks off.
      this.#log.warn(
        `a calendar could not be read to its end: ${error instanceof Error ? error.name : ''}`,
      );
    }
  }
}

/** Whether the program that asks has this state already (RFC 9110 13.1.2, weak comparison). */
function isKnown({ headers }: Request, etag: string): boolean {
  const known = (headers['if-none-match'] ?? '')
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''));
  return known.includes(etag.replace(/^W\//, '')) || known.includes('*');
}
