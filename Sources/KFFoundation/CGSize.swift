import Foundation
import KFCore
import KFImaging

extension SizeSpec {
    /// Creates a size in points. Nil unless both sides are above 0 and at most ``maximum``.
    public init?(_ size: CGSize) { self.init(width: size.width, height: size.height) }
}

extension ResizingImageProcessor {
    /// Creates a processor. Sides out of range count as the nearest valid side.
    public init(referenceSize: CGSize, mode: Mode = .none) {
        self.init(width: referenceSize.width, height: referenceSize.height, mode: mode)
    }
}

extension DownsamplingImageProcessor {
    /// Creates a processor. Sides out of range count as the nearest valid side.
    public init(size: CGSize) { self.init(width: size.width, height: size.height) }
}

extension CroppingImageProcessor {
    /// Creates a processor. Sides out of range count as the nearest valid side. The anchor's coordinates are from 0 to
    /// 1.
    public init(size: CGSize, anchor: CGPoint = CGPoint(x: 0.5, y: 0.5)) {
        self.init(width: size.width, height: size.height, anchor: Anchor(x: anchor.x, y: anchor.y))
    }
}

extension RoundCornerImageProcessor {
    /// Creates a processor that stretches the image to this size first. Sides out of range count as the nearest valid side.
    public init(
        cornerRadius: Double, targetSize: CGSize, roundingCorners: RectCorner = .all,
        backgroundColor: Color = .transparent
    ) {
        self.init(
            radius: .point(cornerRadius), targetSize: targetSize, roundingCorners: roundingCorners,
            backgroundColor: backgroundColor)
    }

    /// Creates a processor that stretches the image to this size first. Sides out of range count as the nearest valid side.
    public init(
        radius: CornerRadius, targetSize: CGSize, roundingCorners: RectCorner = .all,
        backgroundColor: Color = .transparent
    ) {
        self.init(
            radius: radius, targetSize: ResizingImageProcessor(referenceSize: targetSize).size,
            roundingCorners: roundingCorners, backgroundColor: backgroundColor)
    }
}

extension Image {
    /// The size in pixels.
    public var size: CGSize { CGSize(width: width, height: height) }
}
