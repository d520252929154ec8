/// Processors one after the other.
public struct ChainedImageProcessor: ImageProcessor {
    /// In the order in which they run; at least two, none of them a chain or the default processor.
    public let steps: [any ImageProcessor]

    /// The steps' identifiers joined by `|>`.
    public var identifier: String { steps.map(\.identifier).joined(separator: "|>") }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        var image = try steps[0].process(item, options: options)
        for step in steps.dropFirst() { image = try step.process(.image(image), options: options) }
        return image
    }
}

extension ImageProcessor {
    /// A processor that runs this one, then the other.
    public func append(another: any ImageProcessor) -> any ImageProcessor {
        let steps = (steps + another.steps).filter { !$0.identifier.isEmpty }
        switch steps.count {
        case 0: return DefaultImageProcessor()
        case 1: return steps[0]
        default: return ChainedImageProcessor(steps: steps)
        }
    }

    /// The steps but the last one.
    package func droppingLast() -> any ImageProcessor { Self.chain(steps.dropLast()) }

    /// A processor that runs another one before its last steps.
    package func inserting(_ other: any ImageProcessor, before count: Int) -> any ImageProcessor {
        Self.chain(steps.dropLast(count) + other.steps + steps.suffix(count))
    }

    static func chain(_ steps: some Sequence<any ImageProcessor>) -> any ImageProcessor {
        steps.reduce(DefaultImageProcessor()) { chain, step in chain.append(another: step) }
    }
}
