/// One row of the table of processors: the name, the parameters and the documentation of a processor, and how to make
/// it.
///
/// The parser, the help and the completion all work from ``all``.
package struct ProcessorSyntax: Sendable {
    package struct Parameter: Sendable {
        /// The key in `key=value`.
        package let name: String
        /// The parameter in the syntax line, such as `WxH` or `fraction=0.5`.
        let form: String
        package let isOptional: Bool
        /// Whether the parameter is its name alone.
        package var isSwitch = false
        /// The words that the parameter accepts; empty when it takes another kind of value.
        package var choices: [String] = []
    }

    package let name: String
    /// The parameters, in the order in which values without a key fill them.
    package var parameters: [Parameter] { listParameters() }
    /// A complete processor for the help.
    package let example: String
    private let summary: String
    /// A closure, so that parsing one processor does not build the parameters of all.
    private let listParameters: @Sendable () -> [Parameter]
    let make: @Sendable (ProcessorArguments) throws(ImagingError) -> any ImageProcessor

    private init(
        _ name: String, _ parameters: @autoclosure @escaping @Sendable () -> [Parameter], _ summary: String,
        example: String,
        make: @escaping @Sendable (ProcessorArguments) throws(ImagingError) -> any ImageProcessor
    ) {
        self.name = name
        listParameters = parameters
        self.summary = summary
        self.example = example
        self.make = make
    }

    /// The name with its arguments, such as `crop:WxH[,anchor=AXxAY]`; brackets enclose optional arguments.
    package var usage: String {
        var text = name
        for (index, parameter) in parameters.enumerated() {
            let part = (index == 0 ? ":" : ",") + parameter.form
            text += parameter.isOptional ? "[\(part)]" : part
        }
        return text
    }

    /// The effect of the processor as a sentence fragment without a full stop, followed by long lists of choices.
    package var documentation: String {
        parameters.reduce(summary) { text, parameter in
            // The syntax line already contains short lists.
            let choices = parameter.choices
            return choices.count > 4 ? "\(text); \(parameter.form) is one of \(choices.joined(separator: ", "))" : text
        }
    }

    /// All processors, in the order of the help.
    package static let all: [ProcessorSyntax] = [
        resize, downsample, crop, trim, pad, rotate, flip, blur, sharpen, roundCorner, border, overlay, tint, color,
        blackWhite, grayscale, blend, watermark,
    ]
}

extension ProcessorSyntax.Parameter {
    fileprivate static func required(_ name: String, _ form: String) -> Self {
        Self(name: name, form: form, isOptional: false)
    }

    fileprivate static func optional(_ name: String, _ form: String) -> Self {
        Self(name: name, form: form, isOptional: true)
    }

    fileprivate static func word(_ name: String) -> Self {
        Self(name: name, form: name, isOptional: true, isSwitch: true)
    }

    fileprivate static func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ form: String, of type: Choice.Type, isOptional: Bool = false
    ) -> Self where Choice.RawValue == String {
        Self(name: name, form: form, isOptional: isOptional, choices: Choice.allCases.map(\.rawValue))
    }
}

extension ProcessorSyntax {
    private static let resize = ProcessorSyntax(
        "resize",
        [
            .required("size", "WxH|P%"),
            .choice("mode", "none|fit|fill|cover", of: ResizeWord.self, isOptional: true), .word("shrink"),
            .optional("anchor", "anchor=AXxAY"),
        ],
        "Resize to exactly WxH (none), to fit inside it, to fill it without cropping, or to cover it and crop the rest; Wx, "
            + "xH and P% keep the aspect ratio; shrink never enlarges; the anchor of cover is that of crop",
        example: "resize:320x240,cover,anchor=attention"
    ) { (arguments) throws(ImagingError) in
        let size = try arguments.size("size")
        let shrink = arguments.text("shrink") != nil
        let word = try arguments.choice("mode", default: ResizeWord.none)
        let anchor = try arguments.anchor("anchor")
        guard word == .cover else {
            if arguments.text("anchor") != nil { throw arguments.fail("anchor needs the mode cover") }
            let mode = ResizingImageProcessor.Mode(rawValue: word.rawValue) ?? .none
            return ResizingImageProcessor(size: size, mode: mode, shrink: shrink)
        }
        guard let width = size.width, let height = size.height else { throw arguments.fail("cover needs both sides") }
        return ResizingImageProcessor.covering(width: width, height: height, anchor: anchor, shrink: shrink)
    }

    /// The words for the treatment of the aspect ratio. `cover` is a resize and a crop.
    private enum ResizeWord: String, CaseIterable { case none, fit, fill, cover }

    private static let downsample = ProcessorSyntax(
        "downsample", [.required("size", "WxH|P%")],
        "Shrink so that no side is longer than the larger of W and H, or to P%; never enlarge",
        example: "downsample:640x640"
    ) { (arguments) throws(ImagingError) in
        DownsamplingImageProcessor(size: try arguments.size("size"))
    }

    private static let crop = ProcessorSyntax(
        "crop", [.required("size", "WxH"), .optional("anchor", "anchor=AXxAY")],
        "Crop to WxH, at most the size of the image; the anchor is a point such as 0.5x0.5 or 30%x70%, a name such as center "
            + "or top-left, or attention or entropy, which look for the part that matters",
        example: "crop:200x200,anchor=top"
    ) { (arguments) throws(ImagingError) in
        let (width, height) = try arguments.sides("size")
        return CroppingImageProcessor(width: width, height: height, anchor: try arguments.anchor("anchor"))
    }

    private static let trim = ProcessorSyntax(
        "trim", [.optional("tolerance", "TOLERANCE")],
        "Cut off borders of one colour, that of the pixel at the top left; samples may differ by the tolerance (0 to 255, "
            + "default 10)",
        example: "trim:20"
    ) { (arguments) throws(ImagingError) in
        typealias Trimming = TrimmingImageProcessor
        return Trimming(
            tolerance: try arguments.number(
                "tolerance", in: Trimming.toleranceRange, default: Trimming.standardTolerance))
    }

    private static let pad = ProcessorSyntax(
        "pad", [.required("size", "WxH"), .required("color", "COLOUR")],
        "Centre the image on a canvas of that size and colour", example: "pad:320x240,#ffffff"
    ) { (arguments) throws(ImagingError) in
        let (width, height) = try arguments.sides("size")
        return PaddingImageProcessor(width: width, height: height, color: try arguments.color("color"))
    }

    private static let rotate = ProcessorSyntax(
        "rotate", [.choice("angle", "90|180|270", of: RotatingImageProcessor.Angle.self)],
        "Rotate clockwise by that many degrees", example: "rotate:90"
    ) { (arguments) throws(ImagingError) in
        RotatingImageProcessor(angle: try arguments.choice("angle"))
    }

    private static let flip = ProcessorSyntax(
        "flip", [.choice("direction", "h|v", of: FlippingImageProcessor.Direction.self)],
        "Mirror horizontally (h) or vertically (v)", example: "flip:h"
    ) { (arguments) throws(ImagingError) in
        FlippingImageProcessor(direction: try arguments.choice("direction"))
    }
}

extension ProcessorSyntax {
    private static let blur = ProcessorSyntax(
        "blur", [.required("radius", "RADIUS")],
        "Blur with up to three box blurs, which approximate a Gaussian (RADIUS in pixels)", example: "blur:10"
    ) { (arguments) throws(ImagingError) in
        BlurImageProcessor(blurRadius: try arguments.number("radius", in: 0...BlurImageProcessor.maximumRadius))
    }

    private static let sharpen = ProcessorSyntax(
        "sharpen", [.required("sigma", "SIGMA")],
        "Sharpen with an unsharp mask (SIGMA in pixels)", example: "sharpen:0.8"
    ) { (arguments) throws(ImagingError) in
        SharpenImageProcessor(
            sigma: try arguments.number("sigma", above: 0, upTo: SharpenImageProcessor.maximumSigma))
    }

    private static let roundCorner = ProcessorSyntax(
        "round-corner",
        [
            .required("radius", "R"), .optional("corners", "corners=tl+tr+bl+br"), .optional("size", "size=WxH"),
            .optional("background", "background=COLOUR"),
        ],
        "Round the corners; R is in pixels, or a fraction of the width or height such as 0.25w or 0.5h",
        example: "round-corner:20,background=#ffffff"
    ) { (arguments) throws(ImagingError) in
        RoundCornerImageProcessor(
            radius: try arguments.radius("radius"),
            targetSize: arguments.text("size") == nil ? nil : try arguments.size("size"),
            roundingCorners: try arguments.corners("corners"),
            backgroundColor: try arguments.color("background", default: .transparent))
    }

    private static let border = ProcessorSyntax(
        "border",
        [
            .optional("width", "WIDTH"), .optional("color", "COLOUR"), .optional("radius", "radius=R"),
            .optional("corners", "corners=tl+tr+bl+br"),
        ],
        "Draw a border inside the edge (default 4 pixels, black)", example: "border:2,#ff8800"
    ) { (arguments) throws(ImagingError) in
        let width = try arguments.number("width", above: 0, upTo: BorderImageProcessor.maximumWidth, default: 4)
        return BorderImageProcessor(
            border: .init(
                color: try arguments.color("color", default: .black), lineWidth: width,
                radius: try arguments.radius("radius", default: .point(0)),
                roundingCorners: try arguments.corners("corners")))
    }
}

extension ProcessorSyntax {
    private static let overlay = ProcessorSyntax(
        "overlay", [.required("color", "COLOUR"), .optional("fraction", "fraction=0.5")],
        "Mix every pixel with a colour; the fraction is the share of the image that stays",
        example: "overlay:#ff8800,fraction=0.7"
    ) { (arguments) throws(ImagingError) in
        OverlayImageProcessor(
            overlay: try arguments.color("color"), fraction: try arguments.number("fraction", in: 0...1, default: 0.5))
    }

    private static let tint = ProcessorSyntax(
        "tint", [.required("color", "COLOUR")],
        "Lay a colour over the image, as strongly as the colour's alpha", example: "tint:#ff880080"
    ) { (arguments) throws(ImagingError) in
        TintImageProcessor(tint: try arguments.color("color"))
    }

    private static let color = ProcessorSyntax(
        "color",
        [
            .optional("brightness", "brightness=0"), .optional("contrast", "contrast=1"),
            .optional("saturation", "saturation=1"), .optional("ev", "ev=0"),
        ],
        "Adjust brightness (-1 to 1), contrast, saturation and exposure (in stops)",
        example: "color:saturation=1.2,ev=0.5"
    ) { (arguments) throws(ImagingError) in
        typealias Controls = ColorControlsProcessor
        return Controls(
            brightness: try arguments.number("brightness", in: Controls.brightnessRange, default: 0),
            contrast: try arguments.number("contrast", in: Controls.factorRange, default: 1),
            saturation: try arguments.number("saturation", in: Controls.factorRange, default: 1),
            inputEV: try arguments.number("ev", in: Controls.exposureRange, default: 0))
    }

    private static let blackWhite = ProcessorSyntax(
        "black-white", [], "Remove the colour and brighten", example: "black-white"
    ) { (_) throws(ImagingError) in BlackWhiteProcessor() }

    private static let grayscale = ProcessorSyntax(
        "grayscale", [], "Remove the colour", example: "grayscale"
    ) { (_) throws(ImagingError) in GrayscaleImageProcessor() }

    private static let blend = ProcessorSyntax(
        "blend",
        [
            .choice("mode", "MODE", of: BlendMode.self), .optional("alpha", "alpha=1"),
            .optional("background", "background=COLOUR"),
        ],
        "Blend the image onto a background colour", example: "blend:multiply,background=#ff8800"
    ) { (arguments) throws(ImagingError) in
        BlendImageProcessor(
            blendMode: try arguments.choice("mode"), alpha: try arguments.number("alpha", in: 0...1, default: 1),
            backgroundColor: try arguments.color("background", default: .transparent))
    }

    private static let watermark = ProcessorSyntax(
        "watermark",
        [
            .required("overlay", "FILE|URL"), .optional("anchor", "anchor=A"), .optional("scale", "scale=S"),
            .optional("opacity", "opacity=1"), .optional("margin", "margin=0"), .word("tile"),
        ],
        "Lay a picture over the image, at the bottom right by default; S is the part of the image's sides into which it is "
            + "fitted (default its own size); tile repeats it",
        example: "watermark:logo.png,anchor=top,scale=0.2,opacity=0.6"
    ) { (arguments) throws(ImagingError) in
        typealias Placement = WatermarkImageProcessor.Placement
        let overlay = try arguments.required("overlay", "logo.png")
        let anchor = try arguments.anchor("anchor", default: Placement.standardAnchor, interests: [])
        let range = Placement.scaleRange
        let scale = arguments.text("scale") == nil ? nil : try arguments.number("scale", in: range)
        let opacity = try arguments.number("opacity", in: 0...1, default: 1)
        let margin = try arguments.number("margin", in: 0...SizeSpec.maximum, default: 0)
        let tile = arguments.text("tile") != nil
        return WatermarkImageProcessor(
            .named(overlay),
            Placement(anchor: anchor, scale: scale, opacity: opacity, margin: margin, tile: tile))
    }
}
