import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

@Suite("Health of a remote")
struct RemoteHealthTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// Fails three times at once.
    private func resting() -> RemoteHealth {
        var health = RemoteHealth()
        for _ in 1...3 { _ = health.note(.failed("x"), to: .entry, at: start) }
        return health
    }

    @Test("Three failures of one kind in a row begin a rest", arguments: [RemoteHealth.Kind.entry, .object])
    func failures(_ kind: RemoteHealth.Kind) {
        var health = RemoteHealth()
        #expect(health.note(.failed("a"), to: kind, at: start) == nil)
        #expect(health.note(.failed("b"), to: kind, at: start) == nil)
        #expect(health.admitLookUp(at: start) == .ask)
        #expect(health.note(.failed("c"), to: kind, at: start) == .rests("c"))
        #expect(health.isDown(at: start) && health.uploadGate(at: start) != .open)
    }

    @Test("Three failed uploads in a row stop only the uploads")
    func failedUploads() {
        var health = RemoteHealth()
        #expect(health.note(.failed("a"), to: .upload, at: start) == nil)
        #expect(health.note(.failed("b"), to: .upload, at: start) == nil)
        #expect(health.note(.failed("c"), to: .upload, at: start) == .uploadsRest("c"))
        // Those that were in flight are no news.
        for _ in 1...4 { #expect(health.note(.failed("d"), to: .upload, at: start) == nil) }
        #expect(!health.isDown(at: start) && health.admitLookUp(at: start) == .ask)
        #expect(
            health.uploadGate(at: start + .seconds(59)) != .open && health.uploadGate(at: start + .seconds(60)) == .open
        )
    }

    @Test(
        "A success of the same kind resets the count",
        arguments: [CacheLayerAnswer.done, .absent, .refusedBlob("x"), .busy(.zero)])
    func inARow(_ answer: KFRemote.CacheLayerAnswer) {
        var health = RemoteHealth()
        for _ in 1...4 {
            #expect(health.note(.failed("x"), to: .object, at: start) == nil)
            #expect(health.note(.failed("x"), to: .object, at: start) == nil)
            _ = health.note(answer, to: .object, at: start)
        }
        #expect(!health.isDown(at: start))
    }

    @Test("A success of another kind does not reset the count")
    func otherKind() {
        var health = RemoteHealth()
        for _ in 1...2 {
            #expect(health.note(.failed("x"), to: .object, at: start) == nil)
            #expect(health.note(.done, to: .entry, at: start) == nil)
        }
        #expect(health.note(.failed("x"), to: .object, at: start) == .rests("x"))
    }

    @Test("A successful probe after 60 s ends the rest")
    func probe() {
        var health = resting()
        #expect(health.isDown(at: at(59.999)) && health.admitLookUp(at: at(59.999)) == .skip)
        #expect(!health.isDown(at: at(60)))
        #expect(health.admitLookUp(at: at(60)) == .probe)
        #expect(health.admitLookUp(at: at(60)) == .skip, "one probe at a time")
        #expect(health.uploadGate(at: at(59.999)) != .open && health.uploadGate(at: at(60)) == .open)
        #expect(health.note(.absent, to: .entry, at: at(61)) == .isBack)
        #expect(health.admitLookUp(at: at(61)) == .ask && health.uploadGate(at: at(61)) == .open)
        #expect(health.note(.done, to: .entry, at: at(61)) == nil, "said once")
        for number in 1...3 {
            #expect((health.note(.failed("x"), to: .entry, at: at(62)) == .rests("x")) == (number == 3))
        }
    }

    @Test("A failed or silent probe begins another rest", arguments: [false, true])
    func failedProbe(isSilent: Bool) {
        var health = resting()
        #expect(health.isReadable && health.isWritable, "a rest is no refusal")
        #expect(health.admitLookUp(at: at(60)) == .probe)
        let change = isSilent ? health.beginRest("y", at: at(61)) : health.note(.failed("y"), to: .entry, at: at(61))
        #expect(change == nil)
        #expect(health.admitLookUp(at: at(120)) == .skip)
        #expect(health.admitLookUp(at: at(121)) == .probe)
        #expect(health.note(.done, to: .entry, at: at(121)) == .isBack)
    }

    @Test("A busy answer to a probe ends the rest for reading")
    func busyProbe() {
        var health = resting()
        #expect(health.admitLookUp(at: at(60)) == .probe)
        _ = health.note(.busy(.seconds(30)), to: .entry, at: at(60))
        #expect(health.admitLookUp(at: at(61)) == .ask)
        #expect(health.uploadGate(at: at(89)) != .open && health.uploadGate(at: at(90)) == .open)
    }

    @Test("Silence begins a rest at once")
    func silence() {
        var health = RemoteHealth()
        #expect(health.beginRest("it does not answer", at: start) == .rests("it does not answer"))
        #expect(health.isDown(at: at(59)) && !health.isDown(at: at(60)))
    }

    @Test("A refused read ends all use for good", arguments: [RemoteHealth.Kind.entry, .object])
    func refusedRead(_ kind: RemoteHealth.Kind) {
        var health = RemoteHealth()
        #expect(health.note(.refused("status 403"), to: kind, at: start) == .refusesReading("status 403"))
        #expect(health.note(.refused("status 403"), to: kind, at: start) == nil, "said once")
        #expect(!health.isReadable && !health.isWritable)
        _ = health.note(.done, to: kind, at: start)
        #expect(health.isDown(at: at(3600)) && health.admitLookUp(at: at(3600)) == .skip)
        #expect(health.uploadGate(at: at(3600)) != .open)
    }

    @Test("A refused upload ends only the uploads")
    func refusedUpload() {
        var health = RemoteHealth()
        #expect(health.note(.refused("status 507"), to: .upload, at: start) == .refusesWriting("status 507"))
        #expect(health.note(.refused("status 507"), to: .upload, at: start) == nil, "said once")
        #expect(health.isReadable && !health.isWritable && health.uploadGate(at: at(3600)) != .open)
        #expect(health.admitLookUp(at: start) == .ask && !health.isDown(at: start))
    }

    @Test("A busy remote gets no uploads for the stated time")
    func busy() {
        var health = RemoteHealth()
        #expect(health.note(.busy(.seconds(7)), to: .upload, at: start) == .asksForRest(.seconds(7)))
        #expect(health.note(.busy(.seconds(9)), to: .upload, at: at(1)) == nil, "said once")
        #expect(health.admitLookUp(at: at(1)) == .ask && health.isWritable && !health.isDown(at: at(1)))
        #expect(health.uploadGate(at: at(9.9)) != .open && health.uploadGate(at: at(10)) == .open)
        #expect(health.note(.busy(.seconds(1)), to: .upload, at: at(10)) == .asksForRest(.seconds(1)))
    }
}
