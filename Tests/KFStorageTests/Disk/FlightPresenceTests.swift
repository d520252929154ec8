import Foundation
import Support
import Testing

@testable import KFStorage

@Suite("A process alone with its flights", .bounded)
struct FlightPresenceTests {
    private let fixture: DiskStorageFixture
    private let first: DiskStorage
    private let second: DiskStorage
    private let keys = (0..<64).map { EntryKey(key: "k\($0)") }

    init() throws {
        fixture = try DiskStorageFixture()
        first = try fixture.open()
        second = try fixture.open()
    }

    private var isAlone: Bool { first.flights.withLock(\.isAlone) }

    private func enterAll() throws {
        for key in keys { #expect(try first.tryEnterFlight(key)) }
    }

    @Test("A process alone locks only its last flights")
    func alone() throws {
        try enterAll()
        #expect(isAlone)
        let locked = first.flights.withLock { $0.flights.values.count { $0.isLocked } }
        #expect(locked == 31, "of 64: the first ones, until it had been alone")
        for key in keys.dropLast(8) { first.leaveFlight(key) }
        #expect(!isAlone)
        #expect(try !second.tryEnterFlight(keys[60]))
        #expect(try second.tryEnterFlight(keys[0]))
    }

    @Test("A newcomer finds all keys in flight taken")
    func newcomer() throws {
        try enterAll()
        // It knocks, and is told to wait.
        #expect(try !second.tryEnterFlight(keys[63]))
        #expect(try !second.tryEnterFlight(EntryKey(key: "other")))
        #expect(try first.tryEnterFlight(EntryKey(key: "next")))
        #expect(!isAlone)
        for key in keys { #expect(try !second.tryEnterFlight(key)) }
        #expect(try !second.tryEnterFlight(EntryKey(key: "next")))
        #expect(try second.tryEnterFlight(EntryKey(key: "other")))
        #expect(try !first.tryEnterFlight(EntryKey(key: "other")))
        for key in keys { first.leaveFlight(key) }
        for key in keys { #expect(try second.tryEnterFlight(key)) }
    }

    @Test("A newcomer is admitted without a flight's begin or end")
    func beat() async throws {
        try enterAll()
        #expect(try await eventually { try second.tryEnterFlight(EntryKey(key: "other")) })
        #expect(try !second.tryEnterFlight(keys[5]))
    }

    @Test("A newcomer is admitted beside a busy process")
    func busy() async throws {
        try enterAll()
        let busy = Task.detached { [first] in
            var number = 0
            while !Task.isCancelled {
                number += 1
                let key = EntryKey(key: "busy\(number)")
                if try first.tryEnterFlight(key) { first.leaveFlight(key) }
            }
        }
        var isIn = false
        for _ in 0..<40 where !isIn {
            isIn = try second.tryEnterFlight(EntryKey(key: "other"))
            if !isIn { try await Task.sleep(for: .milliseconds(50)) }
        }
        busy.cancel()
        try await busy.value
        #expect(isIn)
    }

    @Test("A silent process is waited for once")
    func silent() throws {
        try enterAll()
        let impatient = try fixture.open { $0.patience = Patience(limit: .zero) }
        var watch = FlightWatch(impatient, keys[0], stall: nil, total: nil)
        #expect(try watch.look() == .stuck)
        #expect(try impatient.tryEnterFlight(EntryKey(key: "other")))
        impatient.leaveFlight(EntryKey(key: "other"))
        // The other still has all of them.
        #expect(isAlone)
    }

    @Test("A process in a recreated cache is no longer alone")
    func remade() async throws {
        try enterAll()
        try FileManager.default.removeItem(atPath: "\(fixture.root)/v1")
        try await first.put("a", "a")
        let key = EntryKey(key: "next")
        #expect(try first.tryEnterFlight(key))
        #expect(!isAlone)
        let newcomer = try fixture.open()
        #expect(try !newcomer.tryEnterFlight(key))
        #expect(try newcomer.tryEnterFlight(EntryKey(key: "other")))
    }

    @Test("A process is alone again after the other has ended")
    func company() throws {
        var other: DiskStorage? = try fixture.open()
        #expect(try other?.tryEnterFlight(EntryKey(key: "other")) == true)
        try enterAll()
        #expect(!isAlone)
        other = nil
        for number in 0..<16 { #expect(try first.tryEnterFlight(EntryKey(key: "more\(number)"))) }
        #expect(isAlone)
    }
}
