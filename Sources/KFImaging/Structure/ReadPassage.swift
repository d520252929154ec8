/// Tells how far a walk through long bytes has come, so that what lies behind it need not stay in memory.
package struct ReadPassage {
    /// In bytes, between two tellings.
    private static let step = 2 << 20

    private let tell: (_ position: Int) -> Void
    private var next = ReadPassage.step
    /// What was seen of the file while it arrived.
    let arrived: ArrivingImage?

    /// `tell` is called with the position, after each step. `arrived` must have read all of the bytes.
    package init(over arrived: ArrivingImage? = nil, _ tell: @escaping (_ position: Int) -> Void) {
        self.arrived = arrived
        self.tell = tell
    }

    /// Tells nobody.
    package static var silent: ReadPassage { ReadPassage { _ in } }

    mutating func reach(_ position: Int) {
        guard position >= next else { return }
        tell(position)
        next = position + Self.step
    }
}
