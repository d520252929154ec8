/// What the parser knows of one processor: its name, its parameters in their order, and how to make it.
struct ProcessorSyntax: Sendable {
    let name: String
    let parameters: [String]
    let make: @Sendable (ProcessorArguments) throws(ImagingError) -> any ImageProcessor

    static let all: [ProcessorSyntax] = [
        resize, downsample, crop, pad, rotate, flip, blur, sharpen, roundCorner, border, overlay, tint, color,
        blackWhite,
        grayscale, blend,
    ]

    static let resize = ProcessorSyntax(name: "resize", parameters: ["size", "mode"]) {
        (arguments) throws(ImagingError) in
        ResizingImageProcessor(
            size: try arguments.size("size", "320x240"), mode: try arguments.choice("mode", default: .none))
    }

    static let crop = ProcessorSyntax(name: "crop", parameters: ["size", "anchor"]) {
        (arguments) throws(ImagingError) in
        let size = try arguments.size("size", "320x240")
        let anchor = try CropAnchorText.parse(arguments)
        guard let width = size.width, let height = size.height else { throw arguments.fail("size needs both sides") }
        return CroppingImageProcessor(width: width, height: height, anchor: anchor)
    }

    static let blur = ProcessorSyntax(name: "blur", parameters: ["radius"]) { (arguments) throws(ImagingError) in
        BlurImageProcessor(blurRadius: try arguments.number("radius", in: 0...BlurImageProcessor.maximumRadius))
    }
}

extension ProcessorSyntax {
    static let downsample = ProcessorSyntax(name: "downsample", parameters: ["size"]) {
        (arguments) throws(ImagingError) in
        DownsamplingImageProcessor(size: try arguments.size("size", "320x240"))
    }

    static let pad = ProcessorSyntax(name: "pad", parameters: ["size", "color"]) {
        (arguments) throws(ImagingError) in
        let size = try arguments.size("size", "320x240")
        let color = try arguments.color("color")
        guard let width = size.width, let height = size.height else { throw arguments.fail("size needs both sides") }
        return PaddingImageProcessor(width: width, height: height, color: color)
    }

    static let rotate = ProcessorSyntax(name: "rotate", parameters: ["angle"]) { (arguments) throws(ImagingError) in
        RotatingImageProcessor(angle: try arguments.choice("angle", as: RotatingImageProcessor.Angle.self))
    }

    static let flip = ProcessorSyntax(name: "flip", parameters: ["direction"]) { (arguments) throws(ImagingError) in
        FlippingImageProcessor(direction: try arguments.choice("direction", as: FlippingImageProcessor.Direction.self))
    }
}

extension ProcessorSyntax {
    static let roundCorner = ProcessorSyntax(
        name: "round-corner", parameters: ["radius", "corners", "size", "background"]
    ) { (arguments) throws(ImagingError) in
        let radius = try arguments.radius("radius")
        let corners = try arguments.corners("corners")
        let size = arguments.text("size") == nil ? nil : try arguments.size("size", "320x240")
        let background = try arguments.color("background", default: .transparent)
        return RoundCornerImageProcessor(
            radius: radius, targetSize: size, roundingCorners: corners, backgroundColor: background)
    }

    static let border = ProcessorSyntax(name: "border", parameters: ["width", "color", "radius", "corners"]) {
        (arguments) throws(ImagingError) in
        let width = try arguments.number("width", above: 0, upTo: BorderImageProcessor.maximumWidth, default: 4)
        let color = try arguments.color("color", default: .black)
        let radius = try arguments.radius("radius", default: .point(0))
        let corners = try arguments.corners("corners")
        return BorderImageProcessor(
            border: .init(color: color, lineWidth: width, radius: radius, roundingCorners: corners))
    }

    static let sharpen = ProcessorSyntax(name: "sharpen", parameters: ["sigma"]) { (arguments) throws(ImagingError) in
        SharpenImageProcessor(
            sigma: try arguments.number("sigma", above: 0, upTo: SharpenImageProcessor.maximumSigma))
    }
}

extension ProcessorSyntax {
    static let overlay = ProcessorSyntax(name: "overlay", parameters: ["color", "fraction"]) {
        (arguments) throws(ImagingError) in
        let color = try arguments.color("color")
        return OverlayImageProcessor(
            overlay: color, fraction: try arguments.number("fraction", in: 0...1, default: 0.5))
    }

    static let tint = ProcessorSyntax(name: "tint", parameters: ["color"]) { (arguments) throws(ImagingError) in
        TintImageProcessor(tint: try arguments.color("color"))
    }

    static let color = ProcessorSyntax(name: "color", parameters: ["brightness", "contrast", "saturation", "ev"]) {
        (arguments) throws(ImagingError) in
        typealias Controls = ColorControlsProcessor
        let brightness = try arguments.number("brightness", in: Controls.brightnessRange, default: 0)
        let contrast = try arguments.number("contrast", in: Controls.factorRange, default: 1)
        let saturation = try arguments.number("saturation", in: Controls.factorRange, default: 1)
        let exposure = try arguments.number("ev", in: Controls.exposureRange, default: 0)
        return Controls(brightness: brightness, contrast: contrast, saturation: saturation, inputEV: exposure)
    }

    static let blackWhite = ProcessorSyntax(name: "black-white", parameters: []) { (_) throws(ImagingError) in
        BlackWhiteProcessor()
    }

    static let grayscale = ProcessorSyntax(name: "grayscale", parameters: []) { (_) throws(ImagingError) in
        GrayscaleImageProcessor()
    }
}

extension ProcessorSyntax {
    static let blend = ProcessorSyntax(name: "blend", parameters: ["mode", "alpha", "background"]) {
        (arguments) throws(ImagingError) in
        let mode = try arguments.choice("mode", as: BlendMode.self)
        let alpha = try arguments.number("alpha", in: 0...1, default: 1)
        let background = try arguments.color("background", default: .transparent)
        return BlendImageProcessor(blendMode: mode, alpha: alpha, backgroundColor: background)
    }
}
