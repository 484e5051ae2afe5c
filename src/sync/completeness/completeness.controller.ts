import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { ApplicationId, ApplicationSecretAuth } from '../../platform/auth/access.decorators.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toCompletenessView } from './completeness.mapper.ts';
import {
  type CompletenessQuery,
  completenessQuery,
  completenessView,
} from './completeness.schema.ts';
import { CompletenessService } from './completeness.service.ts';

@ApiTags('accounts')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@ApiErrors(404)
@Controller('a/:client_id/accounts/:id/completeness')
export class CompletenessController {
  constructor(private readonly completeness: CompletenessService) {}

  @Get()
  @Endpoint({
    summary: 'Prove for each day that nothing of an account is missing',
    description:
      'Compares the messages that the provider listed in the last audit, the messages that are stored here, their events, and what became of these at each webhook that is not inactive. Differences are counted and named.',
    response: completenessView,
  })
  async get(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Query({ schema: completenessQuery }) { days }: CompletenessQuery,
  ) {
    return toCompletenessView(await this.completeness.of(applicationId, id, days));
  }
}
