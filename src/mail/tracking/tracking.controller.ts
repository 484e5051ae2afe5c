import { Controller, Get, Headers, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../platform/auth/access.decorators.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { ClientAddress } from '../../platform/http/client-address.decorator.ts';
import { Hits } from './hits.ts';
import { LINK_PATH, LINK_QUERY, OPENING_PATH, OPENING_QUERY } from './tracker.ts';
import { TrackingTokens } from './tracking-tokens.ts';

/** A transparent GIF of one pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/**
 * Serves the images of tracked messages to mail programs, and redirects clicks on their links
 * (docs/tracking.md). No sign-in is needed: the signature in the query proves that the address is
 * ours. The query is never logged.
 */
@ApiExcludeController()
@Public()
@Controller()
export class TrackingController {
  constructor(
    private readonly tokens: TrackingTokens,
    private readonly hits: Hits,
  ) {}

  @Get(OPENING_PATH)
  async open(
    @Req() request: Request,
    @Res() response: Response,
    @Query(OPENING_QUERY) token: unknown,
    @Headers('user-agent') userAgent: string | undefined,
    @ClientAddress() ip: string,
  ): Promise<void> {
    const messageId = this.tokens.readOpening(token);
    if (messageId === undefined) throw new NotFoundError('image', '');
    if (isVisit(request)) await this.hits.add(messageId, null, { ip, userAgent });
    // Web mail shows the image on pages of another origin.
    response.set('Cross-Origin-Resource-Policy', 'cross-origin').type('gif').send(PIXEL);
  }

  @Get(LINK_PATH)
  async follow(
    @Req() request: Request,
    @Res() response: Response,
    @Query(LINK_QUERY) token: unknown,
    @Headers('user-agent') userAgent: string | undefined,
    @ClientAddress() ip: string,
  ): Promise<void> {
    const link = this.tokens.readLink(token);
    if (!link) throw new NotFoundError('link', '');
    const { messageId, index, url } = link;
    if (isVisit(request)) await this.hits.add(messageId, { index, url }, { ip, userAgent });
    response.set('X-Robots-Tag', 'noindex, nofollow').redirect(302, new URL(url).href);
  }
}

/**
 * False for requests that only check whether the address exists, and for prefetches that no user
 * asked for.
 */
function isVisit({ method, headers }: Request): boolean {
  const purposes = [
    headers['sec-purpose'],
    headers['purpose'],
    headers['x-purpose'],
    headers['x-moz'],
  ];
  return (
    method === 'GET' &&
    !purposes.some((purpose) => /prefetch|prerender|preview/i.test(String(purpose)))
  );
}
