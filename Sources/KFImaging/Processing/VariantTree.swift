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

/// The input of the first step of a chain.
package enum FirstInput: Sendable {
    /// An image, which is decoded once for all steps that take one.
    case image
    /// An image decoded to the size that this returns, in a pass over the bytes that others share.
    case sized(@Sendable (ImageInfo, ProcessingOptions) -> PixelSize)
    /// The bytes: an image that was decoded for others would give another result.
    case bytes
}

/// A processor that decodes bytes in a way of its own.
package protocol OwnDecoding: ImageProcessor {
    var ownInput: FirstInput { get }
}

extension ImageProcessor {
    /// The input of the processor as the first step.
    package var firstInput: FirstInput { (self as? any OwnDecoding)?.ownInput ?? .image }

    /// Returns the size in pixels to which the processor decodes an image with this header; nil if it decodes all pixels.
    package func decodedSize(of info: ImageInfo, options: ProcessingOptions) -> PixelSize? {
        if case .sized(let size) = firstInput { size(info, options) } else { nil }
    }
}

extension ResizingImageProcessor: OwnDecoding {
    package var ownInput: FirstInput {
        .sized { targetSize(width: $0.width, height: $0.height, scaleFactor: $1.scaleFactor) }
    }
}

extension DownsamplingImageProcessor: OwnDecoding {
    package var ownInput: FirstInput {
        .sized { targetSize(width: $0.width, height: $0.height, scaleFactor: $1.scaleFactor) }
    }
}
