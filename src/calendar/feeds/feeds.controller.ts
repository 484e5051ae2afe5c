import { Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { successView } from '../../platform/wire/wire.schema.ts';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { feedView } from './feeds.schema.ts';
import { FeedsService } from './feeds.service.ts';

const PUBLISH = { anyScope: SCOPES_FOR.writeCalendar } as const;

@ApiTags('calendars')
@AccountAuth({ anyScope: SCOPES_FOR.readCalendar })
@Controller('calendars/:id/feed')
export class FeedsController {
  constructor(private readonly feeds: FeedsService) {}

  @Get()
  @ApiErrors(404)
  @Endpoint({
    summary: 'When the secret URL of a calendar was created',
    response: feedView,
  })
  async get(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    const { createdAt } = await this.feeds.get(account, id);
    return { object: 'feed' as const, calendar_id: id, created_at: toUnixSeconds(createdAt) };
  }

  @Post()
  @Access(PUBLISH)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Create a secret URL for reading a calendar',
    description:
      'Anyone who knows the URL can read the calendar as iCalendar, without signing in. An earlier URL of the calendar stops working.',
    response: feedView,
  })
  async make(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    const { url, createdAt } = await this.feeds.make(account, id);
    return { object: 'feed' as const, calendar_id: id, url, created_at: toUnixSeconds(createdAt) };
  }

  @Delete()
  @Access(PUBLISH)
  @ApiErrors(404)
  @Endpoint({ summary: 'Revoke the secret URL of a calendar', response: successView })
  async revoke(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    await this.feeds.revoke(account, id);
    return { success: true as const };
  }
}
