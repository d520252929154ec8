import Synchronization

/// What a run has received over the network, and the work on its items in flight. Any thread counts.
package final class RunTally: Sendable {
    /// The steps of items in flight: sources whose bytes are here, and images made of them.
    package struct Steps: Sendable, Equatable {
        package var sources = 0
        package var images = 0

        static var source: Self { Self(sources: 1) }
        static var image: Self { Self(images: 1) }

        package init(sources: Int = 0, images: Int = 0) { (self.sources, self.images) = (sources, images) }

        /// Both counts in one word, so that they are read together.
        fileprivate var packed: Int { sources << 32 &+ images }

        fileprivate init(packed: Int) { self.init(sources: packed >> 32, images: packed & 0xffff_ffff) }
    }

    private let bytesOfOrigins = Atomic<Int64>(0)
    private let bytesOfRemotes = Atomic<Int64>(0)
    private let steps = StepCount()

    package init() {}

    /// The bytes of bodies that came from origins, those of failed transfers included, as the network brought them.
    package var bytes: Int64 { bytesOfOrigins.load(ordering: .relaxed) }
    /// The bytes of images that came from remotes.
    package var remoteBytes: Int64 { bytesOfRemotes.load(ordering: .relaxed) }
    package var underWay: Steps { steps.value }

    package func received(_ count: Int) { bytesOfOrigins.add(Int64(count), ordering: .relaxed) }
    func receivedFromRemote(_ count: Int) { bytesOfRemotes.add(Int64(count), ordering: .relaxed) }

    /// Adds a step of an item in flight.
    package func add(_ step: Steps) { steps.add(step) }

    /// Takes the steps of an item back that has ended.
    package func remove(_ ended: Steps) { steps.remove(ended) }
}

/// A count of steps that any thread changes.
struct StepCount: ~Copyable, Sendable {
    private let packed = Atomic(0)

    var value: RunTally.Steps { RunTally.Steps(packed: packed.load(ordering: .relaxed)) }

    func add(_ steps: RunTally.Steps) { packed.add(steps.packed, ordering: .relaxed) }
    func remove(_ steps: RunTally.Steps) { packed.subtract(steps.packed, ordering: .relaxed) }
}
