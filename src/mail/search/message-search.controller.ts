import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { toMessageView } from '../messages/messages.mapper.ts';
import { foundMessages, searchQuery, type SearchQueryString } from './search.schema.ts';
import { SearchService } from './search.service.ts';

@ApiTags('messages')
@AccountAuth({ anyScope: SCOPES_FOR.readMail })
@Controller('messages/search')
export class MessageSearchController {
  constructor(private readonly search: SearchService) {}

  @Get()
  @Endpoint({
    summary: 'Search messages, best match first',
    description:
      'Every word must occur in the subject, addresses, text or attachment names, in any order; the last word may be the beginning of a longer one. ' +
      'Operators: `from:`, `to:`, `cc:`, `bcc:`, `subject:`, `filename:`, `has:attachment`, `is:unread`, `is:read`, ' +
      '`is:starred`, `in:`, `label:`, `before:`, `after:`, quotes, `-`, `OR`, `word*`. Drafts are found only with `in:drafts`.',
    response: foundMessages,
  })
  async find(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: searchQuery }) { q, view, ...page }: SearchQueryString,
  ) {
    const messages = await this.search.findMessages(account, { text: q, page });
    return messages.map((message) => toMessageView(message, account.organizationUnit, view));
  }
}
