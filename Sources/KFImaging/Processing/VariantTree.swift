/// Several chains over one image as a tree, in which common first steps occur once.
package struct VariantTree: Sendable {
    /// A step, the chains that end with it, and the steps that follow it.
    package struct Node: Sendable {
        package let processor: any ImageProcessor
        /// The indices of the chains that end here.
        package fileprivate(set) var leaves: [Int] = []
        package fileprivate(set) var children: [Node] = []
    }

    package private(set) var roots: [Node] = []

    package init(_ chains: [any ImageProcessor]) {
        for (index, chain) in chains.enumerated() {
            Self.add(chain.steps[...], index, to: &roots)
        }
    }

    private static func add(_ steps: ArraySlice<any ImageProcessor>, _ leaf: Int, to nodes: inout [Node]) {
        guard let first = steps.first else { return }
        let place = nodes.firstIndex { $0.processor.identifier == first.identifier } ?? nodes.endIndex
        if place == nodes.endIndex { nodes.append(Node(processor: first)) }
        if steps.count == 1 {
            nodes[place].leaves.append(leaf)
        } else {
            add(steps.dropFirst(), leaf, to: &nodes[place].children)
        }
    }
}

/// A processor that decodes bytes directly to a size. Several of them can share one pass over the bytes.
package protocol SizedDecoding: ImageProcessor {
    /// Returns the size in pixels of the result for an image of this size.
    func targetSize(width: Int, height: Int, scaleFactor: Double) -> PixelSize
}

/// A processor that may decode bytes in a way of its own.
package protocol OwnDecoding: ImageProcessor {
    /// Whether the result would differ if the processor took an image that was decoded for others.
    var decodesAlone: Bool { get }
}

extension ImageProcessor {
    /// Returns the size in pixels to which the processor decodes an image with this header; nil if it decodes all pixels.
    package func decodedSize(of info: ImageInfo, options: ProcessingOptions) -> PixelSize? {
        (self as? any SizedDecoding)?
            .targetSize(width: info.width, height: info.height, scaleFactor: options.scaleFactor)
    }

    /// Whether the processor has to be given the bytes, if it is the first step.
    package var needsBytes: Bool { (self as? any OwnDecoding)?.decodesAlone ?? false }
}

extension ResizingImageProcessor: SizedDecoding {}

extension DownsamplingImageProcessor: SizedDecoding {}
