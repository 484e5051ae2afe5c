import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ResourcesService } from './resources.service.ts';
import type { RemoteRoom } from '../../providers/port/connector.ts';
import {
  listResourcesQuery,
  type ListResourcesQuery,
  roomList,
  type RoomView,
} from './resources.schema.ts';

@ApiTags('resources')
@AccountAuth({ anyScope: SCOPES_FOR.readRooms })
@Controller('resources')
export class ResourcesController {
  constructor(private readonly resources: ResourcesService) {}

  @Get()
  @Endpoint({
    summary: 'List meeting rooms, by name',
    description:
      'Lists accounts of the application whose metadata has `room: true`, and the rooms of the organization if the account’s provider lists them.',
    response: roomList,
  })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listResourcesQuery }) query: ListResourcesQuery,
  ) {
    return toListView(await this.resources.list(account, query), toRoomView);
  }
}

function toRoomView({ floorName, floorNumber, ...room }: RemoteRoom): RoomView {
  return {
    object: 'room_resource',
    ...room,
    floor_name: floorName,
    floor_number: floorNumber,
  };
}
