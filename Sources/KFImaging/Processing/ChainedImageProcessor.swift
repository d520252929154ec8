/// Processors that run one after the other.
public struct ChainedImageProcessor: ImageProcessor {
    /// The steps in their order: at least two, none of them a chain or the default processor.
    public let steps: [any ImageProcessor]

    fileprivate init(steps: [any ImageProcessor]) {
        self.steps = steps
    }

    /// The steps' identifiers joined by `|>`.
    public var identifier: String { steps.map(\.identifier).joined(separator: "|>") }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        var image = try steps[0].process(item, options: options)
        for step in steps.dropFirst() { image = try step.process(.image(image), options: options) }
        return image
    }
}

extension ImageProcessor {
    /// Returns a processor that runs this one, then the other.
    public func append(another: any ImageProcessor) -> any ImageProcessor {
        let steps = [self, another].flatMap { processor -> [any ImageProcessor] in
            if let chain = processor as? ChainedImageProcessor { return chain.steps }
            return processor.identifier.isEmpty ? [] : [processor]
        }
        switch steps.count {
        case 0: return DefaultImageProcessor()
        case 1: return steps[0]
        default: return ChainedImageProcessor(steps: steps)
        }
    }
}

infix operator |> : AdditionPrecedence

/// Returns a processor that runs the left one, then the right one.
public func |> (left: any ImageProcessor, right: any ImageProcessor) -> any ImageProcessor {
    left.append(another: right)
}
