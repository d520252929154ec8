import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The room for arriving images")
struct ArrivingRoomTests {
    private final class Waiting: StoreWork {
        let hasRun = SharedValue(false)
        func run(_ turn: inout Turn) { hasRun.value = true }
    }

    private let changes = SharedValue<[Bool]>([])

    private func room() -> Room {
        Room { [changes] isFull in changes.change { $0.append(isFull) } }
    }

    @Test(
        "A full room is free again once half of it is",
        arguments: [(512, 0), (0, 16 << 20)])
    func fullness(count: Int, bytes: Int64) {
        let room = room()
        room.change(bytes: bytes, count: count)
        #expect(changes.value == [])
        room.change(bytes: 1, count: 1)
        #expect(changes.value == [true])
        room.change(bytes: -bytes / 4, count: -count / 4)
        #expect(changes.value == [true])
        room.change(bytes: -bytes / 2, count: -count / 2)
        #expect(changes.value == [true, false])
    }

    @Test("Waiting work runs once half of the room is free")
    func waiting() async {
        let room = room()
        let work = Waiting()
        #expect(room.reserve(1, for: work))
        room.change(bytes: 0, count: 512)
        #expect(!room.reserve(1, for: work))
        room.change(bytes: 0, count: -256)
        #expect(!work.hasRun.value)
        room.change(bytes: 0, count: -1)
        #expect(await eventually { work.hasRun.value })
    }
}
