import Support
import Testing

@testable import KFStorage

@Suite("Waits for another process's flight", .bounded)
struct FlightWatchTests {
    private let fixture: DiskStorageFixture
    private let holder: DiskStorage
    private let waiter: DiskStorage
    private let key = EntryKey(key: "k")
    private let start = ContinuousClock.now

    init() throws {
        fixture = try DiskStorageFixture()
        holder = try fixture.open()
        waiter = try fixture.open { $0.patience = Patience(limit: .seconds(5)) }
        #expect(try holder.tryEnterFlight(key))
    }

    private func sign(_ beat: Int64, bytes: Int64 = 0) throws {
        let file = try #require(try holder.session.flights())
        FlightBeat(key: key.id, process: 7, beat: beat, bytes: bytes).write(to: file)
    }

    private func watch(stall: Duration? = .seconds(15), total: Duration? = nil) -> FlightWatch {
        FlightWatch(waiter, key, stall: stall, total: total, now: start)
    }

    @Test("The wait ends with the flight")
    func over() throws {
        var watch = watch()
        #expect(try watch.look(at: start) == .busy)
        holder.leaveFlight(key)
        #expect(try watch.look(at: start) == .free)
    }

    @Test("A silent holder is waited for as long as for a lock")
    func silent() throws {
        try sign(3, bytes: 10)
        var watch = watch()
        #expect(try watch.look(at: start + .seconds(1)) == .busy)
        #expect(try watch.look(at: start + .seconds(4)) == .busy)
        #expect(try watch.look(at: start + .seconds(5)) == .stuck)
    }

    @Test("Signs of life extend the wait up to the timeout")
    func alive() throws {
        var watch = watch()
        for second in 1...14 {
            try sign(Int64(second), bytes: 0)
            #expect(try watch.look(at: start + .seconds(second)) == .busy)
        }
        try sign(15)
        #expect(try watch.look(at: start + .seconds(15)) == .stuck)
    }

    @Test("Received bytes extend the wait up to the total limit")
    func progress() throws {
        var watch = watch(total: .seconds(40))
        for second in 1...39 {
            try sign(Int64(second), bytes: Int64(second) * 1000)
            #expect(try watch.look(at: start + .seconds(second)) == .busy)
        }
        #expect(try watch.look(at: start + .seconds(40)) == .stuck)
    }

    @Test("Another key's sign of life does not count")
    func other() throws {
        var watch = watch()
        let file = try #require(try holder.session.flights())
        for second in 1...4 {
            FlightBeat(key: key.id &+ 8192, process: 7, beat: Int64(second), bytes: 0).write(to: file)
            #expect(try watch.look(at: start + .seconds(second)) == .busy)
        }
        #expect(try watch.look(at: start + .seconds(5)) == .stuck)
    }

    @Test("A long flight gives signs of life by itself")
    func beats() async throws {
        let hold = try #require(try holder.enterFlight(key))
        hold.note(bytes: 42)
        let file = try #require(try waiter.session.flights())
        #expect(try await eventually { try FlightBeat.read(key.id, from: file)?.bytes == 42 }, "no sign comes")
    }

    @Test("The end of a hold ends its flight")
    func hold() throws {
        holder.leaveFlight(key)
        do {
            let hold = try #require(try holder.enterFlight(key))
            #expect(try waiter.enterFlight(key) == nil)
            withExtendedLifetime(hold) {}
        }
        #expect(try waiter.enterFlight(key) != nil)
    }

    @Test("One session at a time has the flight of a key")
    func flights() throws {
        let first = try fixture.open()
        var second: DiskStorage? = try fixture.open()
        let key = EntryKey(key: "own")
        #expect(try first.tryEnterFlight(key))
        #expect(try second?.tryEnterFlight(key) == false)
        #expect(try second?.tryEnterFlight(EntryKey(key: "other")) == true)
        first.leaveFlight(key)
        #expect(try second?.tryEnterFlight(key) == true)
        #expect(try !first.tryEnterFlight(key))
        second = nil
        #expect(try first.tryEnterFlight(key))
    }
}
