import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { GrantsService } from '../grants/grants.service.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { toAccountView } from './accounts.mapper.ts';
import { accountView } from './accounts.schema.ts';

@ApiTags('accounts')
@AccountAuth({})
@Controller('account')
export class AccountController {
  constructor(
    private readonly grants: GrantsService,
    private readonly connectors: ConnectorRegistry,
  ) {}

  @Get()
  @Endpoint({ summary: 'The account of the access token', response: accountView })
  async get(@CurrentAccount() { applicationId, accountId }: AccountPrincipal) {
    return toAccountView(await this.grants.get(applicationId, accountId), this.connectors);
  }
}
