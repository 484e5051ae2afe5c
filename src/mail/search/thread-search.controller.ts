import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { toThreadView } from '../threads/threads.mapper.ts';
import { foundThreads, searchQuery, type SearchQueryString } from './search.schema.ts';
import { SearchService } from './search.service.ts';

@ApiTags('threads')
@AccountAuth({ anyScope: SCOPES_FOR.readMail })
@Controller('threads/search')
export class ThreadSearchController {
  constructor(private readonly search: SearchService) {}

  @Get()
  @Endpoint({
    summary: 'Search threads, best match first',
    description:
      'Returns the threads of the messages that `GET /messages/search` finds for the same query, without duplicates.',
    response: foundThreads,
  })
  async find(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: searchQuery }) { q, view, ...page }: SearchQueryString,
  ) {
    const expanded = view === 'expanded';
    const threads = await this.search.findThreads(account, { text: q, page, expanded });
    return threads.map((thread) => toThreadView(thread, account.organizationUnit, view));
  }
}
